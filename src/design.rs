//! The design decisions: why the crawler is built as it is, with measurements. There is no code here.
//!
//! Speeds were measured on one machine, most of them by the benches of this package, which print them anew.
//!
//! # The URL-seen test
//!
//! **The fingerprint is stable and keyed.** It is written to disk, so it is XXH3-64, which is stable by specification, with a random key
//! for each job: no outsider can choose URLs that collide. Hashes whose output may change between versions or machines are used only for
//! tables in memory. Every file that depends on how a key becomes bits holds the version number of that derivation.
//!
//! **The verdict and the bits change under one lock, the shard's.** A Bloom filter without locks admits a URL twice: two threads each set
//! some of its bits, and both are told that it is new. Measured on a public crate with threads held in step: 634 of 60,000 keys; with a
//! lock for each shard, none. A gate must never do that.
//!
//! **The bits that choose the shard do not choose the probes.** Inside a shard they are constant, and the filter would lose that many bits:
//! rates of up to 46 times the target were measured, and 0.96 to 1.0 times after mixing again. A cache line is the same trap: plain double
//! hashing has only 2^17 patterns in its 512 bits and cannot get below a rate of 2e-4, so 48 fresh bits are spent there. One file decides
//! how the fingerprint's bits are spent.
//!
//! **The default layout touches one cache line.** At a rate of 1e-4 a URL needs at least 13.3 bits; it takes 19.2 in a standard filter, 22
//! to 24 in lines of 512 bits, 26.3 in Parquet's split blocks. For a fifth more memory a test waits for memory once instead of a dozen
//! times. Other layouts can forget, are exact, or look up on disk what the filter takes for seen. Separate arrays do not lower the rate at
//! equal memory, whatever introductory texts say.
//!
//! **It grows.** A crawl's size is not known beforehand. At capacity a shard adds a layer, larger and stricter, so that all layers together
//! stay under the target `p`: the first layer is given `p (1 - r)`, where `r` is the ratio of each layer's rate to the one before (Almeida
//! and others 2007).
//!
//! **It is audited.** An exact set is kept of a sample of the fingerprint space, chosen by hash. A fingerprint that the filter takes for
//! seen and the set does not hold is a lost page. So a report shows the measured rate beside the expected one. The sample is all of the
//! space at first, and is halved whenever it holds 57,344 URLs: a small crawl's losses are counted, and a large crawl's are estimated
//! within a narrow interval.
//!
//! # The gate
//!
//! **Scope and traps come before the seen test.** A URL that is refused for its depth must not be remembered: a shorter path to it may be
//! found later. Nothing after the gate can be full, so no remembered URL is dropped.
//!
//! **The key is not the URL that is requested.** Requests go to the URL as the page spells it, with its query in the encoding that the HTML
//! standard gives it; the seen test uses its key, the one spelling that stands for all. A path is never lowercased: four public crawlers
//! lose pages by that.
//!
//! **A trap is recognized by what it yields, not by its size.** Limits on the number of pages of one shape lose the sitemap of a large
//! shop, and are late for a small site. So the budget counts how often a page brought nothing new: 57,000 pages of documentation spend no
//! budget, and a simulated web of 3,531 pages with six traps costs 1.08 times the requests of the same web without them, with a tenth of
//! the default budgets; one of 52,618 pages costs 1.04 times with the defaults. The budget is checked when a page is leased, too: all links
//! of a trap may be queued before the first of its pages has come.
//!
//! **A farm is not recognized, but limited to its share.** Where each host of a domain has pages of its own, nothing on them tells a farm
//! from a university. But names are free, and a domain is not. So turns are counted by registrable domain, and a domain that is ahead of
//! the average opens no further host until the others have caught up, even while fetchers are idle: a good site rests between two pages,
//! and a farm of 2,048 hosts would get 2,047 turns meanwhile. The average counts, not the minimum, so one slow site does not delay the
//! others. Only new hosts wait, so hosts already begun go on at full speed. If all domains are honest, the crawl takes at most as long as
//! one that fetches the others first, and then the domain that was ahead.
//!
//! **Only mirrors of a seed's host are recognized.** A crawl meets original and copy at the same time, and half of the copy's pages come
//! first: order does not tell which is which, and a host that copies quickly could have its victim refused. The host that the user named is
//! the original. So a copy of any other host costs its budget, and a seed's page is not counted against its host where a copy of it came
//! first.
//!
//! **Two texts are alike if they are equal except for numbers.** A distance between texts finds a neighbor for many a page that is made
//! from a template. At a distance of 3, Simhash (64 bits over shingles of four words) finds a near-duplicate with other words for 3.5 % of
//! 12,000 pages of Rust's documentation, 4.7 % of 10,126 of Java's and 3.4 % of 3,048 of cppreference. Pages that share fewer than nine
//! tenths of their shingles with that neighbor are 0.6, 4.7 and 0.9 % of all, six to forty-seven times what was allowed. At a distance of 0
//! they are 0.01 to 0.03 %, but three tenths to all of the pages that do share nine tenths are missed, and those found are also different
//! pages: a type's constructor and its destructor, chapters that begin with the same notice. A filter's answer cannot be checked again, so
//! only equal words count. A word with a digit in it is not a number: Rust's documentation has `u32` and `u64`.
//!
//! **A refusal has a reason and a count**, and [`Frontier::explain`](crate::frontier::Frontier::explain) shows the whole decision for one
//! URL.
//!
//! # The frontier
//!
//! **It is a state machine.** Time is an argument, and the next action is a value: fetch, wait until, give up, busy, drained. Only hosts
//! that are due are leased, so no worker waits for a host, and the end of a crawl is known. robots.txt is a host's first lease and takes
//! its turn like a page.
//!
//! **Its state changes in one function of a record**, live and on resume alike; decisions are separate from changes. A test holds the
//! property that a live frontier and a replayed one are the same bytes. Replay once had its own implementation, with a bug that the live
//! one did not have.
//!
//! **One journal has three uses.** Admissions and their outcomes are appended to a log in segments, with checksums. The queues hold
//! positions in it, in steps of a byte or a few: 2.3 bytes a URL with ten million of them on one host, 6.6 on 200,000 hosts. So the log is
//! the queues' storage, the recovery log, and the source from which everything else can be rebuilt. Admissions of URLs of 85 bytes, one in
//! four read back: 1.6 million a second, still at twenty million; fjall 106,000 and falling, redb 68,000, `SQLite` 33,000. In memory, an
//! arena implements the same trait. Recovery cuts the log at its first torn frame.
//!
//! **A checkpoint is fuzzy, and a resume brings it to one moment.** Each piece is saved at a position of its own while the crawl goes on,
//! and a resume applies the later journal records to the pieces that lack them.
//!
//! **A page is done once its outputs have it.** The journal keeps a receipt for each output that a page was written to: the output's name,
//! the end of the page's bytes in it, their length and checksum. A checkpoint knows each output's length. A resume ignores a receipt whose
//! bytes are missing, and cuts each output to what is confirmed: no page is lost, and none is written twice.
//!
//! **A table is made from the records, at the end.** A receipt can name the bytes of a JSON line, but not those of a page in a compressed
//! file or a table. So records are written as lines, and `-o FILE` makes the whole file from them when a run ends: each page is in it once.
//! Parquet has its footer last, so it is made the same way. Its feature is off by default: without Arrow, the library and its dependencies
//! are 39 packages, 27 seconds of CPU to build without optimization.
//!
//! **Redirects are links.** The client follows none. A redirect is a page with one link, whose target is canonicalized, tested, and waits
//! for its own host. A chain may come back to its own URL, as cookie walls do, and is bounded.
//!
//! **Failure is a host's state with a clock, never an end.** When a name, a connection, TLS or robots.txt fails, or a request times out,
//! the host rests, ever longer; in the end each of its URLs has a record, and a resume asks it again. A 500 counts against the page, not
//! its host.
//!
//! **Everything kept for a host or a URL is bounded or on disk**: queues, robots rules, names, numbers of hosts, not the filter alone. An
//! idle host is evicted at a checkpoint, and comes back with its clock and its failures.
//!
//! # The crawl
//!
//! **The web is hostile.** There are limits on bytes as sent and as decoded, on time, redirects, headers, links, nesting and robots rules.
//! Private addresses are refused when the connection is made, after the name was resolved. No text of a page reaches a terminal unescaped.
//!
//! **Work in flight is bounded by bytes and open files, not by workers.** A request that waits costs little, a page that is being read
//! costs much: so thousands may wait, and as many are read as there are cores. Hosts that have never answered have a budget of their own.
//! Before they had it, 500 hosts that accept and say nothing held up twenty good hosts for 469 seconds.
//!
//! **Links are scanned, and no tree is built.** One pass over the bytes finds links, base, title and directives. Building the tree took 679
//! of the 838 microseconds of a page. The tree is the oracle in tests.
//!
//! **One task handles a page from its lease to the next lease.** The task polls its own connection, and takes its next lease under the lock
//! by which it completes the last one. Journal and outputs are written in groups. So no other task is woken for a page: 5,981 pages took
//! 39,695 futex calls before, and take 5,430.
//!
//! **A link that was on a neighboring page is answered by its text.** Nine in ten links of a manual were. To resolve, judge and hash one
//! takes some 7,000 instructions, to look it up 800.
//!
//! **A page is scanned when it is whole.** Scanning as it arrives would free a body sooner. But only at the end is it known how a base, a
//! late encoding or a broken end changes a link. Bodies are bounded, each and together. 28 kB are scanned in 22 microseconds, out of the
//! processor's cache.
//!
//! **One runtime with a thread for each core.** With one thread a page takes as much CPU as with two (0.88, 1.05 and 1.11 times in three
//! pairs), so a runtime for each core, with its own connections, has little to gain.
//!
//! **jemalloc, in what is shipped.** A page takes 0.89 of the CPU that it takes with glibc's allocator on 16 hosts and 0.82 on a thousand
//! (1.13 and 1.22 times the pages a second; medians of five pairs), for 12 MB more. mimalloc 3 takes 1.03 and 0.95, and three times the
//! memory. A static binary with musl's allocator takes 1.34 and 1.58 times the CPU (crawls of 12,000 simulated pages, two pairs). An embedder
//! chooses for itself.
//!
//! **No profile-guided build is shipped.** It would save a further tenth (0.89 and 0.86), but needs a run and LLVM's tools on the machine
//! that builds.
//!
//! **HTTP/2 where it saves connections**: with one request at a time for a host it gains nothing, and without it there are no HTTP/2
//! floods. A host that may have several requests at once gets them on one connection, which no task polls while it has no stream. It is h2
//! alone, without hyper's layer, which starts a task for each request. No PING is sent: an expired deadline ends the request, and its
//! connection gets no further requests.
//!
//! **Two clients, ours by default.** A client is a trait; the duties that do not belong to a client serve all of them. reqwest costs 9 to
//! 10 microseconds more CPU a page (1.09 times on 16 hosts, 1.18 on a thousand; 0.93 and 0.89 of the pages a second), 11 MB, and twice the
//! connections on few hosts. It starts a task for each connection, does not bound interim responses (9.4 s of CPU under a timeout of 10 s),
//! and bounds idle connections only host by host. Its HTTP/2 is not used: it makes a connection for each of the first requests, and reads a
//! flood of frames without limit (60 s of CPU under a timeout of 60 s). An embedder that already uses reqwest, with its proxies and
//! certificates, can pass it to the crawl.
//!
//! **aws-lc, and AES-128 first.** It is the default of rustls and reqwest. A handshake takes the client 156 microseconds with ECDSA P-256
//! and 93 with RSA-2048, 52 where a session is resumed (`cargo bench --bench tls`); with ring it takes 186, 124 and 77. AES-256 and SHA-384
//! add 25. It has two prices: 35 s more CPU to build (a C compiler is enough), and 30 ms once in a process, in which aws-lc gathers entropy
//! before its first handshake. A crawl without https does not pay the second. X25519, P-256 and P-384 exchange keys: the post-quantum
//! exchange would add a kilobyte to each `ClientHello`, to protect pages that everybody may read.
//!
//! **No certificate chain is trusted because it was verified before.** That saved 57 microseconds of a handshake with ECDSA P-256 and 24
//! with RSA-2048, but accepted an expired certificate for an hour longer.
//!
//! # Politeness by something other than the host
//!
//! **A rate group is a second clock after the host's own, not another kind of host.** A host whose rest is over goes to the front queue as
//! ever. If its group rests, or has all the requests out that it may have, the host waits in the group's wait queue, which it leaves when
//! the group is free and its turn comes. So both clocks hold at once, the agenda knows only hosts, and a request costs the same for two
//! hosts of a group as for ten thousand: if each host were scheduled for the group's next time, each request would move all of them.
//!
//! **A wait queue has priorities.** A group's best page goes first, as it does among all hosts; a host that is called keeps its place in
//! the group until its turn has come, so that no newcomer overtakes it.
//!
//! **A rate group has no saved state.** The names of hosts and the options decide which hosts are in it. Its clock is not saved: after a
//! restart each group rests first. So live and replayed state are the same with groups and without.
//!
//! **The longest name decides.** Names with a star are nested: all names that match a host are suffixes of the longest. A policy is worked
//! out once for each name, and looked up once for each host that is loaded into memory, not for each request.
//!
//! **An address is a second rate group of the same kind, reported by the fetcher.** It is learned only when a host is first asked, and a
//! burst of new names must not be connected to before that. So the fetcher tells the frontier what a name resolves to between the lookup
//! and the connection, and either connects or gives the lease back to wait in the queue: ten thousand new names on one address cost ten
//! thousand lookups and one connection at a time. A host in two groups waits for the one that is not free. If one group calls the host
//! while the other is busy, its turn goes to the next host: a turn kept for a host that cannot use it would hold up all others.
//!
//! **Addresses are not saved.** They are reported with each request anyway, since names move; so a restart or an eviction costs each host
//! one lease that goes back, and no byte in journal or checkpoint. A name resolves to a set, in another order each time: its least member
//! stands for it, IPv4 first, IPv6 by its first 64 bits. Kept connections change nothing: the name's address counts.
//!
//! **100 ms and eight connections, by default.** `BUbiNG` and Heritrix can rest as long by address as by host. But the front ends of
//! hosting providers have a few addresses for millions of names, and are built for it: at a second each, a crawl of the web would end with
//! years of them. Ten requests a second are what a small machine with a thousand names can bear. With several connections one host that
//! hangs does not hold up the others. A default does not override a host's own rule: a host that may be asked more quickly, by itself or
//! with its group, is exempt from the address limit, and so is loopback, where whole webs are simulated.
//!
//! **A rest that follows the latency is learned and not saved.** The time when a host is due is in its record, so a restart loses only the
//! basis of the rest after the next page. An error never shortens the rest: an overloaded host often fails quickly. The rest grows at once
//! and shrinks by halves, so one slow page costs a few longer rests.
//!
//! **The rate of the whole crawl is charged in advance, and nothing is read more slowly.** If we held a body back, it would run into the
//! deadlines that catch servers which send a few bytes at a time. So the frontier starts requests by two clocks: one by their number, one
//! by their bytes, for which a request is charged as the last responses were, and corrected when it is back. Pages that differ much in size
//! cost up to a seventh of the rate, since time in which too much was charged is not saved up.
//!
//! **A Retry-After holds for the rate group, not for the address.** The options declare the hosts of a group to be one server. Nothing
//! declares this of an address, and one name on it could stop all its other names for a day.
//!
//! # Sitemaps
//!
//! **A sitemap is a URL of another kind.** It passes the gate, waits for its host, and is leased, retried and recorded like a page; its
//! journal entry and its lease say that it is one. So politeness, robots.txt, resumes and "exactly once" hold for it without extra code.
//! The sitemap lines of a robots.txt are its links: they are admitted when it is read, and are not kept with its rules.
//!
//! **Content decides, not how the URL was found.** A page that is a sitemap or feed is read as one, and a sitemap that is a page as a page:
//! a site's footer may link to the sitemap before any robots.txt was read, and the seen test lets each URL pass once.
//!
//! **The host that vouches for a sitemap travels with it.** A sitemap may list URLs of its own host and of the host whose robots.txt names
//! it. That host's name is the metadata of its entry, so it survives redirects, indexes and restarts. Only the first host that names a
//! sitemap vouches for it.
//!
//! **A site's preferences order pages only within a depth.** Pages that a sitemap lists are one link deep. Pages that the site prefers or
//! has changed lately are queued with the links of that depth, others one queue later, minor and old ones two: `lastmod` and `priority` are
//! hints of uneven worth, and must not keep a front page's links waiting.
//!
//! # Partitions
//!
//! A partition is a gate, a frontier and a journal that own a share of the hosts, and hold no global state. A crawl on one machine has one
//! partition. With several, the host's hash decides which partition owns a host, so that its politeness has one owner. Inside a partition,
//! the URL's hash chooses the shard of the seen set, so that shards fill evenly.
//!
//! # A billion pages, on paper
//!
//! The public anchor is a crawl of 2025: 1.005 billion pages of 242 kB in 25.5 hours, a minute between two requests of a host, on 12
//! machines of 16 virtual processors, 17.5 ms of one a page, for 462 US dollars. What one such crawl would take with ours, from figures
//! that a command prints anew:
//!
//! | what | measured | by | in all |
//! |---|---|---|---|
//! | CPU | 1.14 ms a page of 242 kB, sent in gzip over TLS, a connection for each page, 115 links, journal and records on disk | `benches/peers/run.py --corpus anchor --only ours` | 12.4 cores |
//! | network | 75 kB a page | the same | 6.5 Gbit/s; 21 if nothing came in gzip |
//! | hosts | 167 bytes each, 75 for an address of its own, and 184 for their robots rules | `--bench frontier -- --memory`, `--bench scale` | 654,000 hosts that are due in turn: 0.28 GB |
//! | fetches under way | 38 kB each | `--bench crawl -- slow` | 10,900 fetches of a second each: 0.42 GB |
//! | seen set | 3.15 bytes a URL | `--bench scale` | 31 GB, if ten URLs are found for each that is fetched |
//! | queues | 2.3 to 6.6 bytes a URL that waits, most on hosts with few URLs | `--bench frontier -- --memory` | 23 to 66 GB |
//! | frontier's lock | 1 microsecond a page, 0.5 a new URL | `--bench frontier`, `--bench scale` | 7 % of the time |
//! | journal and records | 142 bytes a URL, 680 a page | the job that the first row leaves | 2.1 TB, 23 MB/s |
//!
//! **Memory is the first limit**, because of URLs that are found and never fetched: 55 to 100 GB. Then the network: 6.5 Gbit/s for one
//! machine, half a gigabit for each of twelve. The CPU comes last, and two fifths of it are spent on inflating gzip. A domain with many
//! URLs is no obstacle: ten million that wait on one host take 2.3 bytes each, less than their bits in the seen set, and everything else
//! about them is on disk.
//!
//! A checkpoint writes the seen set whole. At 31 GB that needs an hour between two (`job.checkpoint_interval`), and then a resume reads 430
//! million records, in nine minutes. Of all costs, this one grows most with size: a reason to divide a crawl by hosts before its memory is
//! full.
//!
//! # Many machines, on paper
//!
//! What a crawl on many machines would take, from figures that `benches/cluster/run.py calm --pages 20000 --hosts 800` prints anew, and the
//! table above. It was measured with three nodes and three nats-server 2.15.1 on two cores, at 272 pages a second: everything beyond that
//! is arithmetic.
//!
//! | what | measured | a billion pages in a day on 12 nodes | 10 billion URLs on 100 nodes |
//! |---|---|---|---|
//! | log as it is written | 1.07 kB a page on each of three servers; some 0.24 kB more for each further URL found | 3.2 TB at ten URLs a page, 37 MB/s | 11 TB and 0.12 GB/s, for each of three copies |
//! | between servers | two copies of that | 0.6 Gbit/s | 2.0 Gbit/s |
//! | server CPU | 0.9 ms a page, in small messages | 10 cores of all servers, less in full messages | 100 |
//! | memory of a node | 31 GB of filters and 23 to 66 GB of queues, shared out | 4.5 to 8 GB | 0.5 to 1 GB |
//! | partitions | 1,024 at most, one node each by rendezvous | 85 a node, 100 on the fullest | 10 a node, 19 on the fullest |
//! | kept of the log | two snapshots, and what follows the older | 3 bytes a URL found and 142 a URL that waits, twice: 2.6 TB where nine of ten wait | the same |
//! | a node dies | the snapshots of its partitions are read, and the log after them, at most as much again; 0.8 million records a second | 110 to 220 GB over 11 nodes: 2 to 3 minutes at 1 Gbit/s | 13 to 26 GB over 99: 1 to 2 s |
//!
//! **The log is the first limit.** A snapshot is made whenever the log has grown by half of the snapshot's size, so all snapshots cost the
//! network at most twice the log. A snapshot must keep the text of each URL that waits, and each segment of the journal (4 MiB) as long as
//! one URL in it waits. Then comes the CPU of the servers, which is mostly paid by message and not by URL. **A thousand partitions are few
//! for a hundred nodes**: the fullest has almost twice its share.
