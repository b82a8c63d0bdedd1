//! `crawler simulate`: the simulated web for crawlers in other processes, which are judged when it is stopped.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use tokio::sync::oneshot;

use super::command_error::CommandError;
use super::exit::Exit;
use super::layers::Layers;
use super::output::{note, print};
use super::signals;
use super::simulated::{ideal, world};
use crate::crawl::raise_open_files;
use crate::job::replace;
use crate::report::figures::thousands;
use crate::simulate::{Judgment, Server};

/// A request to serve a simulated web.
#[derive(Debug)]
pub(super) struct SimulateRequest {
    /// Where the web is served. For port 0 the system chooses one.
    pub(super) listen: SocketAddr,
    /// A file for the address, in addition to the first line of standard output.
    pub(super) address_file: Option<PathBuf>,
    /// A file for the seed URLs of a crawl of it.
    pub(super) seeds_file: Option<PathBuf>,
    /// Print the judgment as JSON.
    pub(super) json: bool,
}

/// Serves the web until the first Ctrl-C or SIGTERM, and prints the judgment.
///
/// The judge knows the rules in the settings, and nothing of the crawlers' own: for a crawler with another delay, set
/// the same delay here. Nor does it know their filters, so each missed page counts.
pub(super) fn simulate(layers: &Layers, request: &SimulateRequest) -> Result<Exit, CommandError> {
    let SimulateRequest { listen, address_file, seeds_file, json } = request;
    if !listen.ip().is_loopback() {
        let message = format!("--listen {listen}: not an address of this machine alone, such as 127.0.0.1:8000");
        return Err(CommandError::new(Exit::Usage, message));
    }
    let world = world(layers)?;
    // Each connection of each crawler is an open file here too.
    raise_open_files();
    let (tell, told) = oneshot::channel();
    signals::at_first(move |_| _ = tell.send(())).map_err(CommandError::of(Exit::Failed, "signals"))?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(CommandError::of(Exit::Failed, "cannot start the runtime"))?;
    let judgment = runtime.block_on(async {
        let server = Server::start_at(world, *listen).await;
        let server = server.map_err(CommandError::of(Exit::Failed, format!("cannot serve at {listen}")))?;
        let (address, seeds) = (server.address(), server.world().seeds().join("\n"));
        keep(seeds_file.as_deref(), &seeds)?;
        keep(address_file.as_deref(), &address.to_string())?;
        print(|out| writeln!(out, "{address}"))?;
        note(&format!(
            "to crawl it: crawler --simulate --resolve-all-to {address} {seeds}; Ctrl-C ends it, and judges"
        ));
        // The signal is reported only once, and the thread that reports it ends with the process.
        _ = told.await;
        Ok(judge(layers, &server))
    })?;
    print(|out| {
        if !json {
            return writeln!(out, "{judgment}");
        }
        serde_json::to_writer_pretty(&mut *out, &judgment)?;
        writeln!(out)
    })?;
    let faults: Vec<_> = judgment.faults().map(|(what, count)| format!("{what} {}", thousands(count))).collect();
    if faults.is_empty() {
        return Ok(Exit::Done);
    }
    Err(CommandError::new(Exit::Failed, format!("the crawl has faults: {}", faults.join(", "))))
}

/// Compares the requests with those of an ideal crawl.
pub(super) fn judge(layers: &Layers, server: &Server) -> Judgment {
    let options = &layers.settings.crawl;
    let (world, politeness) = (server.world(), &options.frontier.politeness);
    let truth = world.truth(&ideal(options));
    server.judge().judgment(world, &truth, politeness.host_delay, politeness.connections_per_host)
}

/// Writes a line to a file, completely or not at all.
fn keep(path: Option<&Path>, line: &str) -> Result<(), CommandError> {
    let Some(path) = path else { return Ok(()) };
    replace(path, format!("{line}\n").as_bytes()).map_err(CommandError::cannot(Exit::Failed, "write", path))
}
