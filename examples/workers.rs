//! Four processes that fetch for one frontier, over a Unix socket. Any of them may be killed at any time, and so may the process with the
//! frontier: a page that was out is lent again once its lease has ended, and none is counted twice.
//!
//! ```console
//! $ cargo run --no-default-features --example workers
//! ```
//!
//! | a worker asks | and gets |
//! |---|---|
//! | `next` | `fetch TOKEN URL`, `wait MILLIS` or `done` |
//! | `answer TOKEN STATUS BYTES LOCATION`, then the body | `ok`; or `late`: the lease was taken back |
//! | `failed TOKEN`, `extend TOKEN`, `return TOKEN` | the same |

pub(crate) mod client;
mod web;

use std::error::Error;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::process::Command;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use std::{env, fs, thread};

use client::Response;
use crawler::frontier::{Failure, Frontier, FrontierError, FrontierOptions, Href, Next, Outcome, Reply, Timestamp};
use crawler::job::JobJournal;

/// How long a lease lasts. A worker that is still busy extends it three times as often.
const TIMEOUT: Duration = Duration::from_secs(3);

fn main() -> Result<(), Box<dyn Error>> {
    if let [socket, web] = &env::args().skip(1).collect::<Vec<_>>()[..] {
        return work(Path::new(socket), web.parse()?);
    }
    let directory = env::temp_dir().join("crawler-workers");
    let seeds = [web::SEED, "http://two.example/", "http://three.example/", "http://four.example/"];
    let (socket, web) = (directory.join("workers.sock"), web::serve()?);
    let frontier = open(&directory, TIMEOUT, &seeds)?;
    let listener = listen(&socket)?;
    let worker = || Command::new(env::current_exe()?).arg(&socket).arg(web.to_string()).spawn();
    let mut workers = [worker()?, worker()?, worker()?, worker()?];
    thread::spawn(move || serve(frontier, &listener).unwrap_or_else(|error| eprintln!("the frontier: {error}")));
    workers.iter_mut().try_for_each(|worker| worker.wait().map(drop))?;
    println!("the frontier is in {}", directory.display());
    Ok(())
}

/// Begins a crawl in this directory, or goes on with it.
pub(crate) fn open(
    directory: &Path,
    lease_timeout: Duration,
    seeds: &[impl AsRef<str>],
) -> Result<Frontier<JobJournal>, Box<dyn Error>> {
    let mut options = FrontierOptions::default();
    options.lease_timeout = Some(lease_timeout);
    options.politeness.host_delay = Duration::from_millis(20); // They are our own hosts.
    let mut frontier = Frontier::open(directory, &options, now())?;
    for seed in seeds {
        frontier.seed(seed.as_ref(), now())?; // Known already, the second time.
    }
    Ok(frontier)
}

pub(crate) fn listen(socket: &Path) -> io::Result<UnixListener> {
    _ = fs::remove_file(socket); // Of a process that was killed.
    UnixListener::bind(socket)
}

/// Does what workers ask for, one request at a time.
pub(crate) fn serve(mut frontier: Frontier<JobJournal>, listener: &UnixListener) -> Result<(), Box<dyn Error>> {
    for worker in listener.incoming() {
        let (mut worker, mut request) = (worker?, String::new());
        // A worker that is stopped in the middle of its request does not stop the others.
        worker.set_read_timeout(Some(Duration::from_secs(1)))?;
        if worker.read_to_string(&mut request).is_err() {
            continue;
        }
        let answer = act(&mut frontier, &request)?;
        if writeln!(worker, "{answer}").is_err()
            && let ["fetch", token, _] = answer.split(' ').collect::<Vec<_>>()[..]
        {
            // It was killed meanwhile: another worker need not wait for the deadline.
            act(&mut frontier, &format!("return {token}\n"))?;
        }
    }
    Ok(())
}

fn act(frontier: &mut Frontier<JobJournal>, request: &str) -> Result<String, Box<dyn Error>> {
    // Without its line's end it is half a request, of a worker that was killed.
    let (line, body) = request.split_once('\n').unwrap_or_default();
    let words: Vec<&str> = line.splitn(5, ' ').collect();
    let acted = match words[..] {
        ["next"] => return lend(frontier),
        ["answer", token, status, bytes, location] if bytes.parse() == Ok(body.len()) => {
            let mut reply = Reply::from(status.parse::<u16>()?);
            (reply.location, reply.body) = (Some(location).filter(|to| !to.is_empty()), body.as_bytes());
            reply.links = web::hrefs(body).map(Href::from).collect();
            frontier.answer_token(token.parse()?, &reply, now()).map(drop)
        }
        ["failed", token] => {
            frontier.complete_token(token.parse()?, Outcome::Failed(Failure::Connect.into()), now()).map(drop)
        }
        ["extend", token] => frontier.extend_token(token.parse()?, now()).map(drop),
        ["return", token] => frontier.give_back_token(token.parse()?, now()),
        _ => return Ok("again".to_owned()),
    };
    let answer = match acted {
        Ok(()) => "ok",
        // Another worker may have the URL by now: nothing has changed.
        Err(FrontierError::LeaseOver(_)) => "late",
        Err(error) => return Err(error.into()),
    };
    println!("{} {} {answer}", words[0], words[1]);
    // From here on, a kill of this process does not undo it.
    frontier.flush(now())?;
    if frontier.statistics().completed % 64 == 63 {
        frontier.checkpoint()?; // Each minute or so, in a long crawl.
    }
    Ok(answer.to_owned())
}

/// A worker's next step.
fn lend(frontier: &mut Frontier<JobJournal>) -> Result<String, Box<dyn Error>> {
    let now = now();
    let wait = match frontier.next(now)? {
        Next::Fetch(lease) => {
            // Before its token leaves the process, so that a kill keeps it.
            frontier.flush(now)?;
            let order = format!("fetch {} {}", lease.token().ok_or("leases do not end")?, lease.url());
            println!("{order} {}", now.as_micros());
            return Ok(order);
        }
        Next::GiveUp(lease) => frontier.complete(lease, Outcome::GivenUp, now).map(|_| 0)?,
        Next::Wait(until) => until.since(now).as_millis().min(100),
        Next::Busy => 100,
        Next::Drained => return Ok("done".to_owned()),
    };
    Ok(format!("wait {wait}"))
}

/// A worker: fetches until nothing is left.
pub(crate) fn work(socket: &Path, web: SocketAddr) -> Result<(), Box<dyn Error>> {
    loop {
        let order = ask(socket, "next\n")?;
        match order.split(' ').collect::<Vec<_>>()[..] {
            ["fetch", token, url] => match fetch(socket, token, url, web)? {
                Some(Ok(Response { status, location, body })) => {
                    let (bytes, location) = (body.len(), location.unwrap_or_default());
                    ask(socket, &format!("answer {token} {status} {bytes} {location}\n{body}"))?;
                }
                Some(Err(_)) => _ = ask(socket, &format!("failed {token}\n"))?,
                None => {}
            },
            ["wait", millis] => thread::sleep(Duration::from_millis(millis.parse()?)),
            _ => return Ok(()), // It is done.
        }
    }
}

/// Fetches a page, and says meanwhile that it goes on; `None` if the lease was taken back.
fn fetch(socket: &Path, token: &str, url: &str, web: SocketAddr) -> io::Result<Option<io::Result<Response>>> {
    let (done, fetched) = mpsc::channel();
    let page = url.to_owned();
    thread::spawn(move || done.send(client::get(web, &page)));
    loop {
        match fetched.recv_timeout(TIMEOUT / 3) {
            Ok(response) => return Ok(Some(response)),
            Err(RecvTimeoutError::Timeout) if ask(socket, &format!("extend {token}\n"))? == "ok" => {}
            Err(_) => return Ok(None),
        }
    }
}

/// Asks the process with the frontier. If that is killed meanwhile, asks the next one. A request that comes twice is done once.
pub(crate) fn ask(socket: &Path, request: &str) -> io::Result<String> {
    let ask = || {
        let mut owner = UnixStream::connect(socket)?;
        owner.write_all(request.as_bytes())?;
        owner.shutdown(Shutdown::Write)?;
        let mut answer = String::new();
        owner.read_to_string(&mut answer)?;
        answer.strip_suffix('\n').map(str::to_owned).ok_or_else(|| io::Error::from(ErrorKind::UnexpectedEof))
    };
    for _ in 0..200 {
        match ask() {
            Ok(answer) => return Ok(answer),
            Err(_) => thread::sleep(Duration::from_millis(50)),
        }
    }
    ask()
}

fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_micros(u64::try_from(since.as_micros()).unwrap_or(u64::MAX))
}
