//! `--dev-cluster N`: a cluster on this machine, to try out a crawl on many machines.
//!
//! ```text
//!   JOB/servers/n0 … n2     three NATS servers: configuration, log, what they keep
//!   JOB/node0 … nodeN       the job directory of each node, and JOB/nodeN.log
//! ```
//!
//! Nodes and servers end with this process, even if it is killed. Running the same command again resumes the crawl.

mod guarded;
mod servers;

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, OnceLock};

use super::command_error::CommandError;
use super::exit::Exit;
use super::layers::Layers;
use super::output::{note, print};
use super::signals;
use super::simulate::judge;
use super::simulated::world;
use crate::job::Job;
use crate::simulate::Server;
use guarded::{Guarded, Orders};
use servers::DevServers;

/// Crawls with `count` nodes. The first node prints the report of all.
pub(super) fn crawl(layers: &Layers, count: u32) -> Result<Exit, CommandError> {
    let settings = &layers.settings;
    let refused = |reason: &str| CommandError::new(Exit::Usage, layers.refusal("cluster.dev", reason));
    if !cfg!(feature = "cluster") {
        return Err(refused("this crawler was built without it: cargo install crawler --features cluster"));
    }
    if !settings.cluster.servers.is_empty() {
        return Err(refused("it has servers of its own: leave --cluster out"));
    }
    if settings.seeds.files.iter().any(|file| file.as_os_str() == "-") {
        return Err(refused("each node needs the seeds, and standard input has them once: give a file"));
    }
    let directory = &settings.job.dir;
    if Job::open_for_reading(directory).is_ok() {
        let message = format!("{} holds a crawl of one machine", directory.display());
        return Err(CommandError::new(Exit::ForeignJob, message));
    }
    let binary = servers::binary(std::env::var_os("PATH")).map_err(refused)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(CommandError::of(Exit::Failed, "cannot start the runtime"))?;
    let is_served = settings.simulate.enabled && settings.crawl.fetch.resolve_all_to.is_none();
    let web = is_served.then(|| world(layers)).transpose()?.map(|world| runtime.block_on(Server::start(world)));
    let web = web.transpose().map_err(CommandError::of(Exit::Failed, "cannot serve the simulated web"))?;
    let servers = DevServers::start(binary.as_os_str(), &directory.join("servers"))?;
    let address = web.as_ref().map(|web| web.address().to_string());
    let mut nodes = (0..count)
        .map(|number| start(directory, number, &servers.addresses, address.as_deref()))
        .collect::<Result<Vec<_>, _>>()?;
    let name = &settings.cluster.name;
    note(&format!(
        "{count} nodes crawl into {0}, over {1}: crawler cluster status --cluster {1} --cluster-name {name}",
        directory.display(),
        servers.addresses
    ));
    let signal = Arc::new(OnceLock::new());
    let (told, orders): (_, Vec<Orders>) = (Arc::clone(&signal), nodes.iter().map(Guarded::orders).collect());
    signals::at_first(move |exit| {
        told.get_or_init(|| exit);
        orders.iter().for_each(Orders::end);
    })
    .map_err(CommandError::of(Exit::Failed, "signals"))?;
    let mut failed = Vec::new();
    for (number, node) in nodes.iter_mut().enumerate() {
        let status = node.wait().map_err(CommandError::of(Exit::Failed, "cannot wait for a node"))?;
        if !status.success() && signal.get().is_none() {
            let log =
                if number == 0 { String::new() } else { format!(": see {}/node{number}.log", directory.display()) };
            failed.push(format!("node{number} has ended with {status}{log}"));
        }
    }
    drop((nodes, servers));
    if let Some(&exit) = signal.get() {
        return Ok(exit);
    }
    if !failed.is_empty() {
        return Err(CommandError { exit: Exit::Failed, messages: failed });
    }
    if let Some(web) = web {
        let judgment = judge(layers, &web).to_string();
        // The first node has printed the report, and JSON must stand alone on standard output.
        if settings.output.json { note(&judgment) } else { print(|out| writeln!(out, "{judgment}"))? }
    }
    note(&format!(
        "the records of all nodes, each page once: crawler merge {}/node* -o pages.jsonl",
        directory.display()
    ));
    Ok(Exit::Done)
}

/// Starts a node with the arguments of this process, except for its directory, the servers and the web.
fn start(directory: &Path, number: u32, servers: &str, web: Option<&str>) -> Result<Guarded, CommandError> {
    let job = directory.join(format!("node{number}"));
    let log = directory.join(format!("node{number}.log"));
    let cannot = || CommandError::cannot(Exit::Failed, "start a node in", &job);
    fs::create_dir_all(directory).map_err(cannot())?;
    let program = std::env::current_exe().map_err(cannot())?;
    let mut arguments = without(std::env::args_os().skip(1), &["--dev-cluster", "--job"]);
    arguments.extend(["--cluster", servers, "--job"].map(OsString::from));
    arguments.push(job.clone().into_os_string());
    arguments.extend(web.into_iter().flat_map(|web| ["--resolve-all-to", web]).map(OsString::from));
    let outputs = if number == 0 {
        [Stdio::inherit(), Stdio::inherit()]
    } else {
        [Stdio::null(), File::create(&log).map_err(cannot())?.into()]
    };
    Guarded::start(program.as_os_str(), &arguments, &[("CRAWLER_CLUSTER_DEV", "none")], outputs).map_err(cannot())
}

/// The arguments without these flags and their values.
fn without(arguments: impl Iterator<Item = OsString>, flags: &[&str]) -> Vec<OsString> {
    let (mut kept, mut is_value) = (Vec::new(), false);
    for argument in arguments {
        let is_of = |flag: &&str| {
            argument
                .as_encoded_bytes()
                .strip_prefix(flag.as_bytes())
                .is_some_and(|rest| rest.is_empty() || rest[0] == b'=')
        };
        if std::mem::take(&mut is_value) {
            continue;
        }
        match flags.iter().find(|flag| is_of(flag)) {
            Some(flag) => is_value = argument == OsStr::new(flag),
            None => kept.push(argument),
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_is_given_what_is_not_its_own() {
        let given = ["http://a.test/", "--dev-cluster", "3", "--job=here", "--depth", "2", "--jobs", "--dev-cluster=4"];
        let kept = without(given.map(OsString::from).into_iter(), &["--dev-cluster", "--job"]);
        assert_eq!(kept, ["http://a.test/", "--depth", "2", "--jobs"].map(OsString::from));
    }
}
