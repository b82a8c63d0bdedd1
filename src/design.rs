//! Why it is built as it is: the decisions, with what was measured. There is no code here.
//!
//! Speeds were measured on one machine, most by the benches of this package, which print them anew.
//!
//! # The URL-seen test
//!
//! **The fingerprint is stable and keyed.** It is written to disk, so it is XXH3-64, which is stable by specification, under a
//! random key of the job's own: nobody outside can choose URLs that collide. Hashes whose output may change between versions or
//! machines serve tables in memory only. The way from key to bits has a number in each file that depends on it.
//!
//! **The verdict and the bits change under one lock, a shard's.** A Bloom filter without locks admits a URL twice: two threads
//! each set a part of its bits, and both hear that it is new. Measured on a public crate with threads held in step: 634 of 60,000
//! keys; with a lock for each shard, none. For a gate that is the one thing that must not happen.
//!
//! **The bits that choose the shard do not choose the probes.** Inside a shard they are constant, and the filter would lose as
//! much: rates of up to 46 times the target were measured, 0.96 to 1.0 times after mixing again. A cache line is the same trap:
//! plain double hashing knows 2^17 patterns in its 512 bits and cannot come below a rate of 2e-4, so 48 fresh bits are spent
//! there. One file spends the fingerprint's bits.
//!
//! **The default layout touches one cache line.** At a rate of 1e-4 a URL takes 13.3 bits at least, 19.2 in a standard filter, 22 to
//! 24 in lines of 512 bits, 26.3 in Parquet's split blocks. For a fifth more memory it waits for memory once instead of a dozen
//! times. Beside it stand layouts that can forget, that are exact, and that look up on disk what the filter takes for seen.
//! Separate arrays do not lower the rate at equal memory, whatever introductory texts say.
//!
//! **It grows.** Nobody knows a crawl's size beforehand. At capacity a shard adds a layer, larger and stricter, so that all layers
//! together stay under the target: the first is given `p (1 - r)` and not `p` (Almeida and others 2007).
//!
//! **It is audited.** Of a sample of the fingerprint space, chosen by hash, an exact set is kept. What the filter takes for seen and
//! the set does not hold is a page lost. So a report says what was measured beside what is expected. The sample is all of the space at
//! first, and is halved whenever it holds 57,344 URLs: what a small crawl lost is counted, and of a large one the interval is narrow.
//!
//! # The gate
//!
//! **Scope and traps come before the seen test.** A URL that is refused for its depth must not be remembered: a shorter way to it
//! may be found later. Nothing behind the gate can be full, so nothing that was remembered is dropped.
//!
//! **The key is not the URL that is asked for.** Requests go to the URL as the page spells it, in the encoding that the HTML
//! standard gives its query; the seen test asks for its key, the one spelling that stands for all. A path is never made lower
//! case: four public crawlers lose pages by that.
//!
//! **A trap is told by what it yields, not by how much of it there is.** Limits on the number of pages of one shape lose the sitemap of a large
//! shop, and are late for a small site. So what counts is how often a page brought nothing new: of 57,000 pages of documentation no
//! budget is spent, and a simulated web of 3,531 pages with six traps costs 1.08 times the requests of the same web without them, by budgets of a
//! tenth of those that a user has; one of 52,618 pages by those costs 1.04 times. It is looked at when a page is lent, too: all links of a
//! trap may be queued before the first of its pages has come.
//!
//! **A farm is not told, and has its share.** Where each host of a domain has pages of its own, nothing that they say tells a farm from a
//! university. But names are free, and a domain is not. So turns are counted by registrable domain, and one that is ahead of the average opens no
//! further host until the others have caught up, even while fetchers are idle: a good site rests between two pages, and a farm of 2,048 hosts
//! would have 2,047 turns meanwhile. The average counts, and not the least, so one slow site does not delay the others. Only new hosts wait, so what
//! was begun goes on at full speed. A crawl of honest domains takes no longer than the others and then that domain.
//!
//! **A mirror is told of a seed's host alone.** A crawl meets original and copy at the same time, and half of the copy's pages come first: who was
//! first does not tell which is which, and a host that copies quickly could have its victim refused. What a user named is the original. So the copy
//! of another host costs its budget, and the page of a seed's host is not blamed where a copy of it came first.
//!
//! **Two texts are alike where they are equal but for numbers.** A distance between texts finds a neighbor for many a page that is made from
//! a template. Simhash, 64 bits over shingles of four words, says at a distance of 3 that 3.5 % of 12,000 pages of Rust's documentation, 4.7 %
//! of 10,126 of Java's and 3.4 % of 3,048 of cppreference are like another one, although their words are not equal. Of these, pages that have
//! fewer than nine tenths of their shingles in common are 0.6, 4.7 and 0.9 % of all, six to forty-seven times what was allowed. At a distance of 0
//! these are 0.01 to 0.03 %, but three tenths to all of the pages that have them in common are not found, and those that are found are
//! other pages too: a type's constructor and its destructor, chapters whose first sentences are one notice. What is asked from a filter
//! cannot be looked at again, so equal words it is. In Rust's documentation words with a digit in them had to stay: `u32` and `u64` are no numbers.
//!
//! **A refusal has a reason and a count**, and [`Frontier::explain`](crate::frontier::Frontier::explain) tells the whole decision
//! for one URL.
//!
//! # The frontier
//!
//! **It is a state machine.** Time is an argument, and what to do is a value: fetch, wait until, give up, busy, drained. Only
//! hosts that are due are lent, so no worker waits for a host, and the end of a crawl is no guess. robots.txt is a host's first
//! lease and takes its turn like a page.
//!
//! **Its state changes in one function of a record**, live and on resume alike; to decide and to change are apart. That a live
//! frontier and a replayed one are the same bytes is a property that a test holds. The replay was once a second frontier; it
//! had a bug that the first had not.
//!
//! **One journal has three uses.** What is admitted and what became of it is appended to a log in segments, with checksums. The
//! queues hold positions in it, in steps of a byte or a few: 2.3 bytes a URL with ten million of them on one host, 6.6 on
//! 200,000 hosts. So the log is the queues' storage, the recovery log, and what all else can be built from. Admissions of URLs of 85
//! bytes, one in four read back: 1.6 million a second, still at twenty million; fjall 106,000 and falling, redb 68,000, `SQLite`
//! 33,000. In memory the same trait is an arena. Recovery cuts the log at its first torn frame.
//!
//! **A checkpoint is fuzzy, and a resume makes it one moment.** Its pieces are saved each at a position of its own, while the crawl
//! goes on, and what the journal has behind them is applied to those that lack it.
//!
//! **A page is done where its outputs have it.** The journal keeps a receipt for each output that a page was written to: the output's
//! name, where the page's bytes end in it, their length and checksum. A checkpoint knows each output's length. A resume believes no
//! receipt whose bytes are not there, and cuts each output to what is confirmed: no page is lost, and none is written twice.
//!
//! **A table is made of the records, at the end.** Lines of JSON have bytes that a receipt can name, a packed file or a table has not. So
//! records are written as lines, and `-o FILE` makes the whole file of them when a run ends: each page is in it once. Parquet has its footer
//! last, so it is made the same way. It is a feature that is off: the library and what it needs are 39 packages, 27 seconds of CPU to build
//! without optimization and without Arrow.
//!
//! **Redirects are links.** The client follows none. A redirect is a page with one link, whose target is canonicalized, tested,
//! and waits for its own host. A chain may come back to its own URL, as walls of cookies do, and is bounded.
//!
//! **To fail is a host's state with a clock, never an end.** Names, connections, TLS, timeouts and robots.txt that fail make it rest,
//! ever longer; in the end each of its URLs has a record, and a resume asks it again. A page's 500 is the page's.
//!
//! **What is kept for a host or a URL is bounded or on disk**: queues, robots rules, names, numbers of hosts, not the filter alone.
//! A host that is idle is evicted at a checkpoint, and comes back with its clock and its failures.
//!
//! # The crawl
//!
//! **The web is hostile.** There are limits on bytes as sent and as decoded, on time, redirects, headers, links, nesting and robots
//! rules. Private addresses are refused where the connection is made, after the name was resolved. Nothing that a page says
//! reaches a terminal unescaped.
//!
//! **What is in flight is bounded by bytes and open files, not by workers.** A request that waits costs little, a page that is
//! read much: so there are thousands of the first and as many of the second as there are cores. Hosts that never answered have a
//! budget of their own. Before, 500 hosts that accept and say nothing held up twenty good ones for 469 seconds.
//!
//! **Links are scanned, and no tree is built.** One pass over the bytes finds links, base, title and directives. Of 838
//! microseconds that a page took, 679 went into the tree. The tree is the oracle in tests.
//!
//! **A page is one task's from its lease to the next lease.** A task polls its own connection, and takes its next lease under the lock
//! by which it settles the last one. Journal and outputs are written in groups. Nobody is woken for a page then: 5,981 pages took
//! 39,695 calls of futex before, and take 5,430.
//!
//! **A link that stood on a neighboring page is answered by its text.** Nine in ten links of a manual do. To resolve, judge and hash one
//! takes some 7,000 instructions, to look it up 800.
//!
//! **A page is scanned when it is whole.** A scan of what has come so far would let go of a body sooner. But what a base, a late encoding or a
//! broken end makes of a link is known at the end alone, and where a page's structure asks for the tree builder, that reads all of it.
//! Bodies have a bound, each and together. 28 kB are scanned in 22 microseconds, out of the processor's cache.
//!
//! **One runtime with a thread for each core.** With one thread a page takes as much CPU as with two (0.88, 1.05 and 1.11 times in three
//! pairs), so a runtime for each core, with connections of its own, has little to gain.
//!
//! **jemalloc, in the command.** A page takes 0.89 of the CPU that it takes with glibc's allocator on 16 hosts and 0.82 on a thousand (1.13
//! and 1.22 times the pages a second; medians of five pairs), for 12 MB more. mimalloc 3 takes 1.03 and 0.95, and three times the memory.
//! An embedder chooses for itself.
//!
//! **No profile-guided build is shipped.** It would take a further tenth (0.89 and 0.86), but needs a run and LLVM's tools on the machine that
//! builds.
//!
//! **HTTP/2 where it saves connections**: with one request at a time for a host it gains nothing, and its floods cannot come in. A
//! host that may have several gets them on one connection, which nobody polls while it has no stream. It is h2 alone, without hyper's
//! layer, which starts a task for each request. No PING is sent: a clock that runs out ends the request, and the connection gets no
//! further ones.
//!
//! **Two clients, ours by default.** A client is a trait, and duties that are no client's serve all of them. reqwest costs 9 to 10 microseconds
//! of CPU a page more (1.09 times on 16 hosts, 1.18 on a thousand; 0.93 and 0.89 of the pages a second), 11 MB, and twice the connections on
//! few hosts. It starts a task for each connection, bounds no interim responses (9.4 s of CPU in a clock of 10 s), bounds idle connections
//! of each host alone. Its HTTP/2 is not used: it makes a connection for each of the first requests, and reads a flood of frames for as
//! long as it likes (60 s of CPU in a clock of 60 s). Who has reqwest already, with its proxies and certificates, gives the crawl that.
//!
//! **aws-lc, and AES-128 first.** It is what rustls and reqwest take by default. A handshake takes the client 156 microseconds with ECDSA
//! P-256 and 93 with RSA-2048, 52 where a session is resumed (`cargo bench --bench tls`); with ring it takes 186, 124 and 77. With AES-256
//! and SHA-384 it takes 25 more. Two prices: 35 s more CPU of building, by a C compiler alone, and 30 ms once in a process, in which
//! aws-lc gathers entropy before its first handshake. A crawl of http pays neither in its run. X25519, P-256 and P-384 exchange
//! keys: the post-quantum exchange would add a kilobyte to each greeting, for pages that everybody may read.
//!
//! **No chain of certificates is good because it was verified before.** That saved 57 microseconds of a handshake with ECDSA P-256 and 24 with
//! RSA-2048, and took a certificate that had run out for an hour more.
//!
//! # Politeness by something other than the host
//!
//! **A group is a second clock behind the host's own, not another kind of host.** A host whose rest is over goes to the front queue as
//! ever. If its group rests, or has as many requests out as it may, the host stands in the group's line, and leaves it one by one as the
//! group is free. So both clocks hold at once, the agenda knows hosts alone, and a request costs the same for two hosts of a group as
//! for ten thousand: were each host noted again for the group's next time, each request would move all of them.
//!
//! **A line has priorities.** The best page of a group goes first, as it does among all hosts; a host that is called keeps its place of
//! the group until its turn has come, so that no newcomer passes it over.
//!
//! **A group has no state.** Which hosts are in it follows from their names and the options. Its clock is not written down: after a
//! restart each group rests first. So live and replayed state are the same with groups and without.
//!
//! **The longest name says all.** Names with a star are nested: all that fit a host are suffixes of the longest. What a host is treated by
//! is worked out once for each name, and looked up once for each host that comes to memory, not for each request.
//!
//! **An address is a second circle of the same kind, told by the fetcher.** It is learned only when a host is first asked, and a burst of new
//! names must not be connected to before that. So the fetcher tells the frontier what a name resolves to between the lookup and the
//! connection, and connects, or gives the lease back to stand in line: ten thousand new names on one address cost ten thousand lookups and
//! one connection at a time. A host in both circles stands in the line of the one that is not free; where it is called by one and the
//! other is taken, its place goes to the next, since a place that is kept for a host that cannot take it holds up all others.
//!
//! **Nothing is written of addresses.** They are told with each request anyway, since names move; so a restart or an eviction costs each
//! host one lease that goes back, and no byte in journal or checkpoint. What a name resolves to is a set, in another order each time:
//! its least member stands for it, IPv4 first, IPv6 by its first 64 bits. Kept connections change nothing: the name's address counts.
//!
//! **100 ms and eight connections, by default.** `BUbiNG` and Heritrix can rest by address as long as by host. But the front ends of those who
//! serve for others have a few addresses for millions of names, and are built for it: at a second each, a crawl of the web would
//! end with years of them. Ten requests a second are what a small machine with a thousand names can bear. With several connections one
//! host that hangs does not hold up the others. A default does not take back what was said of a host: one that may be asked more quickly, by itself or with
//! its group, counts for no address, and neither does loopback, where whole webs are simulated.
//!
//! **A rest that follows the latency is learned and not written down.** The time when a host is due is in its record, so a restart loses
//! only what the rest after the next page begins from. An error never shortens it: a host that has too much to do often fails quickly. It
//! grows at once and shrinks by halves, so one slow page costs a few longer rests.
//!
//! **The rate of the whole crawl is charged, and nothing is read more slowly.** A body that is held back by us would run into the clocks that
//! tell a server which sends in crumbs. So the frontier starts requests by two clocks: one by their number, one by their bytes, for which
//! a request is charged as the last responses were, and corrected when it is back. Pages that weigh very differently cost up to a seventh
//! of the rate, since time in which too much was charged is not saved up.
//!
//! **A Retry-After is the group's, not the address's.** Hosts of a group were said to be one server. Of an address nobody has said so, and
//! one name on it could stop all others for a day.
//!
//! # Sitemaps
//!
//! **A sitemap is a URL of another kind.** It passes the gate, waits for its host, and is lent, tried again and recorded like a page;
//! its entry in the journal says that it is one, and so does its lease. So politeness, robots.txt, resumes and "exactly once" hold
//! for it without a line of their own. A robots.txt's lines are its links: they are admitted when it is read, and are not kept with
//! its rules.
//!
//! **Content decides, not who found it.** A page that is a sitemap or feed is read as one, and a sitemap that is a page as a page: a site's
//! footer may link to the sitemap before any robots.txt was read, and the seen test lets each URL pass once.
//!
//! **The host that vouches travels with it.** A sitemap may list URLs of its own host and of the host whose robots.txt names it. That
//! host's name is the metadata of its entry, so it survives redirects, indexes and restarts. Only the first that names a sitemap
//! vouches for it.
//!
//! **What a site prefers moves within a depth.** Pages that a sitemap lists are one link deep. What its site prefers or has changed
//! lately goes with the links of that depth, others one queue later, minor and old ones two: `lastmod` and `priority` are hints of
//! uneven worth, and must not keep a front page's links waiting.
//!
//! # Partitions
//!
//! A gate, a frontier and a journal own a share of the hosts, and hold no global state. Today a process has one. Between several the
//! host's hash decides, so that politeness has one owner; inside one, the URL's hash chooses the shard of the seen set, so that
//! shards fill evenly.
//!
//! # A billion pages, on paper
//!
//! The public anchor is a crawl of 2025: 1.005 billion pages of 242 kB in 25.5 hours, a minute between two requests of a host, on 12
//! machines of 16 virtual processors, 17.5 ms of one a page, for 462 US dollars. What one such crawl would take of ours, from
//! figures that a command prints anew:
//!
//! | what | measured | by | in all |
//! |---|---|---|---|
//! | CPU | 1.14 ms a page of 242 kB, sent in gzip over TLS, a connection for each page, 115 links, journal and records on disk | `benches/peers/run.py --corpus anchor --only ours` | 12.4 cores |
//! | network | 75 kB a page | the same | 6.5 Gbit/s; 21 if nothing came in gzip |
//! | hosts | 167 bytes each, 75 for an address of its own, and 184 for their robots rules | `--bench frontier -- --memory`, `--bench scale` | 654,000 that are due in turn: 0.28 GB |
//! | fetches under way | 38 kB each | `--bench crawl -- slow` | 10,900 that take a second: 0.42 GB |
//! | seen set | 3.15 bytes a URL | `--bench scale` | 31 GB, if ten URLs are found for each that is fetched |
//! | queues | 2.3 to 6.6 bytes a URL that waits, the most on hosts with few | `--bench frontier -- --memory` | 23 to 66 GB |
//! | frontier's lock | 1 microsecond a page, 0.5 a new URL | `--bench frontier`, `--bench scale` | 7 % of the time |
//! | journal and records | 142 bytes a URL, 680 a page | the job that the first row leaves | 2.1 TB, 23 MB/s |
//!
//! **Memory binds first**, with what was found and is never fetched: 55 to 100 GB. Then the network: 6.5 Gbit/s for one machine, half a
//! gigabit for each of twelve. The CPU comes last, and two fifths of it are spent on inflating gzip. A domain with many URLs does not end
//! it: ten million that wait on one host take 2.3 bytes each, less than their bits in the seen set, and all else about them is on disk.
//!
//! A checkpoint writes the seen set whole. At 31 GB that wants an hour between two (`job.checkpoint_interval`), and then a resume
//! reads 430 million records, in nine minutes. That grows worst with size, and is a reason to divide a crawl by hosts before its memory is full.
//!
//! # Many machines, on paper
//!
//! What crawls on many machines would take, from figures that `benches/cluster/run.py calm --pages 20000 --hosts 800` prints anew, and the
//! table above. It was measured with three nodes and three nats-server 2.15.1 on two cores, at 272 pages a second: how it grows from there is
//! arithmetic.
//!
//! | what | measured | a billion pages in a day on 12 nodes | 10 billion URLs on 100 nodes |
//! |---|---|---|---|
//! | log as it is written | 1.07 kB a page on each of three servers; some 0.24 kB more for each further URL found | 3.2 TB at ten URLs a page, 37 MB/s | 11 TB and 0.12 GB/s, for each of three copies |
//! | between servers | two copies of that | 0.6 Gbit/s | 2.0 Gbit/s |
//! | server CPU | 0.9 ms a page, in small messages | 10 cores of all servers, less in full messages | 100 |
//! | memory of a node | 31 GB of filters and 23 to 66 GB of queues, shared out | 4.5 to 8 GB | 0.5 to 1 GB |
//! | partitions | 1,024 at most, one node each by rendezvous | 85 a node, 100 on the fullest | 10 a node, 19 on the fullest |
//! | kept of the log | two snapshots, and what follows the older | 3 bytes a URL found and 142 a URL that waits, twice: 2.6 TB where nine of ten wait | the same |
//! | a node dies | the snapshots of its partitions are read, and the log behind them, at most as much again; 0.8 million records a second | 110 to 220 GB over 11 nodes: 2 to 3 minutes at 1 Gbit/s | 13 to 26 GB over 99: 1 to 2 s |
//!
//! **The log binds first.** A snapshot is made whenever the log has grown by half of what it takes, so all of them cost the network twice the log
//! at most. What it cannot leave out is the text of each URL that waits, and its segment of the journal (4 MiB) as long as one waits in it. Then
//! comes the CPU of the servers, which is mostly paid a message and not a URL. **A thousand partitions are few for a hundred nodes**: the
//! fullest has almost twice its share.
