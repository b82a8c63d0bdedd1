//! NATS servers on loopback, each in its own directory.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};
use std::{env, fs, iter};

use rustix::fs::statvfs;
use tempfile::TempDir;

/// A bound on the time of something that is immediate on an idle machine.
pub(crate) const LONG: Duration = Duration::from_secs(300);

/// A directory in memory, if the system has room there. A checkpoint that takes seconds, since a busy disk is slow to sync, is followed by minutes
/// without another.
pub(crate) fn directory() -> TempDir {
    const MEMORY: &str = "/dev/shm";
    let has_room = statvfs(MEMORY).is_ok_and(|memory| memory.f_bavail.saturating_mul(memory.f_frsize) >= 1 << 30);
    if has_room { tempfile::tempdir_in(MEMORY) } else { tempfile::tempdir() }.unwrap()
}

/// Returns once a condition holds.
pub(crate) fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + LONG;
    while !holds() {
        assert!(Instant::now() < end, "{what}: not within {LONG:?}");
        sleep(Duration::from_millis(20));
    }
}

/// The path of the server's program; `None` if it is not installed and tests may be skipped.
pub(crate) fn program() -> Option<PathBuf> {
    let paths = env::var_os("PATH").unwrap_or_default();
    let found = env::split_paths(&paths).map(|path| path.join("nats-server")).find(|path| path.is_file());
    let found = found.or_else(|| Some(PathBuf::from("/usr/sbin/nats-server")).filter(|path| path.is_file()));
    if found.is_none() {
        assert!(env::var_os("NO_SKIPS").is_none(), "nats-server is not installed: apt-get install nats-server");
        eprintln!("SKIPPED: nats-server is not installed (Debian: apt-get install nats-server)");
    }
    found
}

/// The servers of one cluster; they end when this is dropped.
pub(crate) struct Servers {
    program: PathBuf,
    directory: TempDir,
    clients: Vec<u16>,
    monitors: Vec<u16>,
    running: Vec<Option<Child>>,
}

/// Free ports, each once. They are below the range from which the system assigns ports to connections: a port of that
/// range could be taken before a server has it, or while it is down.
fn free_ports(count: usize) -> Vec<u16> {
    static GIVEN: AtomicU32 = AtomicU32::new(0);
    let next = || std::process::id().wrapping_mul(97).wrapping_add(GIVEN.fetch_add(1, Ordering::Relaxed));
    let ports = iter::repeat_with(|| u16::try_from(10_000 + next() % 20_000).unwrap());
    ports.filter(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok()).take(count).collect()
}

impl Servers {
    /// Starts `count` servers, and waits until they store messages. `more` is added to the configuration of each.
    pub(crate) fn start(program: PathBuf, count: usize, more: &str) -> Self {
        let directory = directory();
        let (clients, routes, monitors) = (free_ports(count), free_ports(count), free_ports(count));
        let all = routes.iter().map(|port| format!("nats-route://127.0.0.1:{port}")).collect::<Vec<_>>().join(", ");
        for number in 0..count {
            let cluster = format!("cluster {{ name: c, listen: \"127.0.0.1:{}\", routes: [{all}] }}\n", routes[number]);
            let store = directory.path().join(format!("store{number}"));
            let config = format!(
                "server_name: n{number}\nlisten: \"127.0.0.1:{}\"\nhttp: \"127.0.0.1:{}\"\n\
                 jetstream {{ store_dir: \"{}\" }}\n{}{more}",
                clients[number],
                monitors[number],
                store.display(),
                if count > 1 { &cluster } else { "" },
            );
            fs::write(directory.path().join(format!("n{number}.conf")), config).unwrap();
        }
        let mut servers = Self { program, directory, clients, monitors, running: Vec::new() };
        servers.running.resize_with(count, || None);
        (0..count).for_each(|number| servers.begin(number));
        servers.await_health();
        servers
    }

    /// Their addresses, as `--cluster` takes them.
    pub(crate) fn addresses(&self) -> String {
        self.clients.iter().map(|port| format!("nats://127.0.0.1:{port}")).collect::<Vec<_>>().join(",")
    }

    /// Starts a server that is down.
    pub(crate) fn begin(&mut self, number: usize) {
        let log = self.directory.path().join(format!("n{number}.log"));
        let log = fs::File::options().append(true).create(true).open(log).unwrap();
        let config = self.directory.path().join(format!("n{number}.conf"));
        let mut command = Command::new(&self.program);
        command.arg("-c").arg(config).stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        self.running[number] = Some(command.spawn().unwrap());
    }

    /// Kills a server.
    pub(crate) fn kill(&mut self, number: usize) {
        if let Some(mut server) = self.running[number].take() {
            server.kill().unwrap();
            server.wait().unwrap();
        }
    }

    /// Deletes everything that a stopped server has stored.
    pub(crate) fn wipe(&self, number: usize) {
        fs::remove_dir_all(self.directory.path().join(format!("store{number}"))).unwrap();
    }

    /// Waits until all running servers store messages.
    pub(crate) fn await_health(&mut self) {
        for (number, server) in self.running.iter_mut().enumerate() {
            let Some(server) = server else { continue };
            until("a server is healthy", || {
                let ended = server.try_wait().unwrap();
                let log = || fs::read_to_string(self.directory.path().join(format!("n{number}.log"))).unwrap();
                assert!(ended.is_none(), "server {number} has ended: {}", log());
                is_healthy(self.monitors[number])
            });
        }
    }
}

fn is_healthy(port: u16) -> bool {
    let Ok(mut stream) = TcpStream::connect(("127.0.0.1", port)) else { return false };
    let mut answer = String::new();
    let asked = stream.write_all(b"GET /healthz HTTP/1.0\r\n\r\n").and_then(|()| stream.read_to_string(&mut answer));
    asked.is_ok() && answer.contains(" 200 ")
}

impl Drop for Servers {
    fn drop(&mut self) {
        for server in self.running.iter_mut().flatten() {
            let _ = server.kill();
            let _ = server.wait();
        }
    }
}
