//! `crawler --cluster`: a crawl on many machines, and the commands that ask its cluster admin.

#[cfg(not(feature = "cluster"))]
pub(super) use without::{ask, crawl, drop_rules, explain, stats};

/// The commands of a build without the feature: each refuses.
#[cfg(not(feature = "cluster"))]
mod without {
    use std::path::Path;

    use crate::cli::arguments::CommandLine;
    use crate::cli::command_error::{CommandError, Exit};
    use crate::cli::config::settings;
    use crate::cli::layers::Layers;
    use crate::cli::progress::Screen;
    use crate::cli::request::{ClusterRequest, StatsForm};
    use crate::cli::seeds::SeedLists;
    use crate::gate::DropRule;

    fn refused(layers: &Layers) -> CommandError {
        let reason = "this crawler was built without it: cargo install crawler-cli --features cluster";
        CommandError::new(Exit::Usage, layers.refusal("cluster.servers", reason))
    }

    pub(in crate::cli) fn crawl(layers: &Layers, _: SeedLists, _: &Screen) -> Result<Exit, CommandError> {
        Err(refused(layers))
    }

    pub(in crate::cli) fn ask(layers: &Layers, request: &ClusterRequest) -> Result<(), CommandError> {
        let advice = match request {
            ClusterRequest::Drain { node } => format!("{node} is still at work"),
            ClusterRequest::Leave { job } => format!("the node of {} is still at work", job.display()),
            ClusterRequest::Status => "no server was asked".to_owned(),
        };
        Err(refused(layers).and(advice))
    }

    pub(in crate::cli) fn drop_rules(line: &CommandLine, _: &[DropRule], _: bool) -> Result<(), CommandError> {
        Err(refused(&settings(line)?))
    }

    pub(in crate::cli) fn explain(line: &CommandLine, _: &[String], _: &Path, _: bool) -> Result<(), CommandError> {
        Err(refused(&settings(line)?))
    }

    pub(in crate::cli) fn stats(line: &CommandLine, _: &str, _: &StatsForm) -> Result<(), CommandError> {
        Err(refused(&settings(line)?))
    }
}

#[cfg(feature = "cluster")]
pub(super) use within::{ask, crawl, drop_rules, explain, stats};

#[cfg(feature = "cluster")]
mod within {
    use std::path::Path;
    use std::time::Duration;

    use crate::address::Canonicalizer;
    use crate::cli::arguments::CommandLine;
    use crate::cli::command_error::{CommandError, Exit};
    use crate::cli::config::{of_crawl, settings};
    use crate::cli::explain::{AskedUrls, UrlAnswer, options};
    use crate::cli::layers::{Layers, refused, unfit};
    use crate::cli::output::{self, print};
    use crate::cli::progress::{Reporter, Screen};
    use crate::cli::request::{ClusterRequest, StatsForm};
    use crate::cli::seeds::SeedLists;
    use crate::cli::settings::sinks;
    use crate::cli::signals::{Signals, block_on};
    use crate::cli::simulate::world;
    use crate::cli::{config, drop_rules, log, stats};
    use crate::cluster::{ClusterAdmin, ClusterError, ClusterOptions, Member, PartitionBy, Servers, node_of};
    use crate::crawl::{CrawlOptions, FinishReason, look_through};
    use crate::driver::PAGES;
    use crate::gate::DropRule;
    use crate::report::{Report, metrics};

    /// The command waits at most this long until all nodes apply the drop rules.
    const HEARD: Duration = Duration::from_secs(10);
    /// How long the report waits for the last counts of other nodes.
    const LAST_COUNTS: Duration = Duration::from_secs(30);
    /// Time between two checks.
    const LOOK: Duration = Duration::from_millis(250);

    /// Crawls as one node of a cluster.
    pub(in crate::cli) fn crawl(layers: &Layers, seeds: SeedLists, screen: &Screen) -> Result<Exit, CommandError> {
        refuse_others(layers)?;
        let servers = servers(layers)?;
        let settings = &layers.settings;
        let traps = &settings.crawl.frontier.traps;
        let canonicalizer = Canonicalizer::new(&settings.crawl.frontier.keys).with_max_bytes(traps.url_bytes);
        let cluster = &settings.cluster;
        let seeds = match seeds {
            none if none.is_empty() && settings.simulate.enabled => SeedLists::of_urls(&world(layers)?.seeds()),
            seeds => seeds,
        };
        let here = std::env::current_dir().map_err(CommandError::of(Exit::NotKept, "no working directory"))?;
        let options = ClusterOptions {
            servers: servers.clone(),
            crawl: cluster.name.clone(),
            partitions: cluster.partitions,
            partition_by: if cluster.by_domain { PartitionBy::Domain } else { PartitionBy::Host },
            lease: cluster.lease,
            directory: settings.job.dir.clone(),
            options: settings.crawl.clone(),
            seeds: seeds.urls(&canonicalizer)?,
            settings: config::kept(layers, &here),
            sinks: sinks(settings, ClusterOptions::number_of(&cluster.name, &settings.job.dir)),
            skipped: settings.output.skipped,
            bodies: settings.output.bodies.clone(),
            logs_all: log::is_verbose(&settings.output.log),
        };
        block_on(async {
            let (member, files) = Member::join(options).await.map_err(|error| failed(layers, &error))?;
            let signals = Signals::listen(member.stop());
            let reporter = settings.output.progress.then(|| Reporter::start(screen, &settings.crawl, member.watch()));
            let ended = member.run().await;
            drop(reporter);
            let written = tokio::task::spawn_blocking(|| files.end()).await;
            let written = written.unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()));
            let reason = ended.map_err(|error| failed(layers, &error))?;
            written.map_err(CommandError::of(Exit::NotKept, "cannot keep what was crawled"))?;
            print_end(layers, &servers, reason).await?;
            match reason {
                FinishReason::Drained => Ok(Exit::Done),
                FinishReason::Stopped | FinishReason::MaxDuration => Ok(signals.exit().unwrap_or(Exit::Done)),
                FinishReason::DiskLow => Err(CommandError::new(Exit::NotKept, "the disk is nearly full")),
                reason => Err(CommandError::new(Exit::Failed, format!("this node cannot go on: {reason:?}"))),
            }
        })
    }

    /// Prints the report of all nodes if the crawl is over; otherwise says how it continues.
    async fn print_end(layers: &Layers, servers: &Servers, reason: FinishReason) -> Result<(), CommandError> {
        let settings = &layers.settings;
        if reason != FinishReason::Drained {
            output::note("this node has left; the others go on, and it joins again when it is started again");
            return Ok(());
        }
        let admin =
            ClusterAdmin::open(servers, &settings.cluster.name).await.map_err(|error| failed(layers, &error))?;
        let settled = async {
            while !admin.is_given_back().await.unwrap_or(true) {
                tokio::time::sleep(LOOK).await;
            }
        };
        // A killed node never publishes its last counts, so the wait is bounded.
        let _ = tokio::time::timeout(LAST_COUNTS, settled).await;
        let report = admin.report(&settings.crawl).await.map_err(|error| failed(layers, &error))?;
        let form = if settings.output.json { StatsForm::Json } else { StatsForm::Text(Vec::new()) };
        show(&report, &form)
    }

    fn show(report: &Report, form: &StatsForm) -> Result<(), CommandError> {
        print(|out| match form {
            StatsForm::Json => report.write_json(out),
            StatsForm::Metrics => out.write_all(metrics(report).as_bytes()),
            StatsForm::Text(shown) => out.write_all(output::alarming(&stats::text(report, None, shown)).as_bytes()),
        })
    }

    /// Prints the one report of a crawl on many machines.
    pub(in crate::cli) fn stats(line: &CommandLine, crawl: &str, form: &StatsForm) -> Result<(), CommandError> {
        let layers = settings(line)?;
        let report = block_on(async {
            let (admin, layers) = open(line, &layers, crawl).await?;
            admin.report(&layers.settings.crawl).await.map_err(|error| failed(&layers, &error))
        })?;
        show(&report, form)
    }

    /// Explains why a crawl on many machines did not fetch URLs. Page records come from a node's directory, if it is on
    /// this machine.
    pub(in crate::cli) fn explain(
        line: &CommandLine,
        urls: &[String],
        job: &Path,
        json: bool,
    ) -> Result<(), CommandError> {
        let layers = settings(line)?;
        block_on(async {
            let (admin, layers) = open(line, &layers, &layers.settings.cluster.name).await?;
            let options = options(&layers);
            let asked = AskedUrls::new(urls, &options);
            let of_crawl = CrawlOptions { frontier: options.clone(), ..layers.settings.crawl.clone() };
            let found = admin.explain(&of_crawl, &asked.urls()).await.map_err(|error| failed(&layers, &error))?;
            let (mut explanations, places): (Vec<_>, Vec<_>) = found.into_iter().unzip();
            let records = job.join(PAGES);
            let looked = look_through(&records, &mut explanations);
            looked.map_err(CommandError::cannot(Exit::Failed, "read", &records))?;
            let answers = explanations.iter().zip(&places);
            let partitions = admin.partitions();
            asked.print(
                answers.map(|(explanation, place)| UrlAnswer::of(explanation, &options).at(place, partitions)),
                json,
            )
        })
    }

    /// Stops fetching what these rules name in a crawl on many machines, or undoes that, and waits until the nodes know. Without rules,
    /// lists the rules in force.
    pub(in crate::cli) fn drop_rules(line: &CommandLine, rules: &[DropRule], undo: bool) -> Result<(), CommandError> {
        drop_rules::check(rules, undo)?;
        let layers = settings(line)?;
        let crawl = &layers.settings.cluster.name;
        let servers = servers(&layers)?;
        block_on(async {
            let failed = |error| failed(&layers, &error);
            let admin = ClusterAdmin::open(&servers, crawl).await.map_err(failed)?;
            if rules.is_empty() {
                return drop_rules::list(&admin.dropped().await.map_err(failed)?);
            }
            let before = admin.drop_by(rules, undo).await.map_err(failed)?;
            let heard = async {
                loop {
                    match admin.have_heard().await {
                        Ok((owned, heard)) if heard < owned => tokio::time::sleep(LOOK).await,
                        ended => break ended,
                    }
                }
            };
            // The rule is stored even if the nodes do not confirm it.
            let heard = tokio::time::timeout(HEARD, heard).await;
            let (what, note) = match heard {
                _ if admin.has_ended().await.map_err(failed)? => {
                    ("no requests are sent any more", Some("the crawl is over"))
                }
                Ok(Ok((0, _))) => ("nodes that join later send it no requests", Some("no node is running")),
                Ok(Ok(_)) => ("no more requests are sent to it", None),
                _ => ("each node stops once it knows the rule", Some("not all nodes have confirmed the rule yet")),
            };
            let listing = format!("crawler drop --cluster {servers} --cluster-name {crawl}");
            drop_rules::print_each(rules, &before, undo, what, &listing);
            note.into_iter().for_each(output::note);
            Ok(())
        })
    }

    /// Opens the admin of a crawl, and the settings that the crawl was started with.
    async fn open(line: &CommandLine, layers: &Layers, crawl: &str) -> Result<(ClusterAdmin, Layers), CommandError> {
        let admin = ClusterAdmin::open(&servers(layers)?, crawl).await.map_err(|error| failed(layers, &error))?;
        let layers = match admin.settings() {
            Some(text) => of_crawl(line, crawl, text)?,
            // Its settings were too long to be stored, so the settings given here are assumed.
            None => settings(line)?.checked()?,
        };
        Ok((admin, layers))
    }

    /// Handles a request to the cluster admin.
    pub(in crate::cli) fn ask(layers: &Layers, request: &ClusterRequest) -> Result<(), CommandError> {
        let servers = servers(layers)?;
        let (crawl, node) = match request {
            ClusterRequest::Drain { node } => (layers.settings.cluster.name.clone(), Some(node.clone())),
            ClusterRequest::Leave { job } => {
                let (crawl, node) = node_of(job).map_err(|error| failed(layers, &error))?;
                (crawl, Some(node))
            }
            ClusterRequest::Status => (layers.settings.cluster.name.clone(), None),
        };
        block_on(async {
            let admin = ClusterAdmin::open(&servers, &crawl).await.map_err(|error| failed(layers, &error))?;
            match node {
                None => {
                    let text = admin.status().await.map_err(|error| failed(layers, &error))?;
                    print(|out| out.write_all(output::alarming(&text).as_bytes()))
                }
                Some(node) => {
                    if !admin.drain(&node).await.map_err(|error| failed(layers, &error))? {
                        let message = format!("the crawl {crawl} has no node {node}");
                        return Err(CommandError::new(Exit::Failed, message)
                            .and(format!("its nodes: crawler cluster status --cluster-name {crawl}")));
                    }
                    output::note(&format!("{node} hands over its partitions, and ends"));
                    Ok(())
                }
            }
        })
    }

    /// The servers in the settings.
    fn servers(layers: &Layers) -> Result<Servers, CommandError> {
        let cluster = &layers.settings.cluster;
        let addresses = cluster.servers.iter().flat_map(|servers| servers.split(','));
        let certificate = match (&cluster.certificate, &cluster.key) {
            (None, None) => None,
            (Some(certificate), Some(key)) => Some((certificate.clone(), key.clone())),
            (Some(_), None) => {
                return Err(CommandError::new(
                    Exit::Usage,
                    layers.refusal("cluster.key", "the certificate needs its key"),
                ));
            }
            (None, Some(_)) => {
                let refusal = layers.refusal("cluster.certificate", "the key needs its certificate");
                return Err(CommandError::new(Exit::Usage, refusal));
            }
        };
        let servers = Servers {
            addresses: addresses.map(str::trim).filter(|address| !address.is_empty()).map(str::to_owned).collect(),
            sign_in: cluster.sign_in.clone(),
            ca_file: cluster.ca_file.clone(),
            certificate,
        };
        let refused = |reason: String| CommandError::new(Exit::Usage, layers.refusal("cluster.servers", &reason));
        servers.check().map_err(refused)?;
        Ok(servers)
    }

    /// Refuses settings that a crawl on many machines does not support yet.
    fn refuse_others(layers: &Layers) -> Result<(), CommandError> {
        let settings = &layers.settings;
        let (crawl, output) = (&settings.crawl, &settings.output);
        let serves = settings.simulate.enabled && crawl.fetch.resolve_all_to.is_none();
        let others = [
            ("crawl.max_pages", crawl.max_pages.is_some()),
            ("dashboard.listen", settings.dashboard.listen.is_some()),
            ("fetch.cookies", crawl.fetch.cookies),
            ("fetch.load_cookies", !crawl.fetch.load_cookies.is_empty()),
            ("job.add", settings.job.add),
            ("job.overwrite", settings.job.overwrite),
            ("output.pages", output.pages.is_some()),
            ("output.visits", output.visits),
            ("rate.bytes", crawl.frontier.byte_rate.is_some()),
            ("rate.requests", crawl.frontier.request_rate.is_some()),
            ("recrawl.every", crawl.recrawl.every.is_some()),
            ("recrawl.job", settings.recrawl.is_some()),
        ];
        if let Some((key, _)) = others.into_iter().find(|(_, is_set)| *is_set) {
            let reason = "is not supported yet in a crawl on many machines (--cluster)";
            return Err(CommandError::new(Exit::Usage, layers.refusal(key, reason)));
        }
        if serves {
            let reason = "each machine would serve a web of its own: give all of them one (fetch.resolve_all_to)";
            return Err(CommandError::new(Exit::Usage, layers.refusal("simulate.enabled", reason)));
        }
        Ok(())
    }

    fn failed(layers: &Layers, error: &ClusterError) -> CommandError {
        match error {
            ClusterError::Another { .. } | ClusterError::Foreign { .. } | ClusterError::Version { .. } => {
                let advice = "give this crawl a name of its own (--cluster-name), or the settings that the other one was started with";
                CommandError::caused(Exit::ForeignJob, "cluster", error).and(advice.to_owned())
            }
            ClusterError::Job(error) => refused(error),
            ClusterError::Crawl(error) => unfit(layers, error),
            ClusterError::NoSeeds { .. } => CommandError::caused(Exit::Usage, "cluster", error),
            ClusterError::SignIn { .. } => CommandError::new(Exit::Usage, error.to_string()),
            ClusterError::Gone { .. } => {
                let advice = "it can keep nothing more. Each node's pages are in its job directory (crawler merge JOB...); to start again, \
                              give another name (--cluster-name)";
                CommandError::caused(Exit::Failed, "cluster", error).and(advice.to_owned())
            }
            ClusterError::Storage { .. } => CommandError::caused(Exit::NotKept, "cluster", error),
            _ => CommandError::caused(Exit::Failed, "cluster", error),
        }
    }
}
