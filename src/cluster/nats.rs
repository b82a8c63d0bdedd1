//! The transport over NATS and its stored streams (JetStream): the only module that uses the NATS client. Also the servers' addresses, and
//! our credentials for them.
//!
//! A crawl has one stream for its keys, which keeps their last values, and up to eight logs, over which its partitions are spread. One of the
//! servers is a stream's leader, and orders its messages. With three or more servers, a stream has three replicas, and a message is
//! acknowledged once most of them have it. The leader then republishes the message to subscribers, with its sequence and the sequence of the
//! message before it on its subject. So readers need not poll, and the next message reveals a missed one. A log that was created without
//! republishing is polled.

use std::fmt;
use std::fmt::Display;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::task::{Poll, ready};
use std::time::{Duration, SystemTime};

use async_nats::header::{NATS_LAST_SEQUENCE, NATS_SEQUENCE};
use async_nats::jetstream::context::{Context, ContextBuilder, PublishErrorKind};
use async_nats::jetstream::message::PublishMessage;
use async_nats::jetstream::stream::{Config, DiscardPolicy, RawMessageError, RawMessageErrorKind, Republish, Stream};
use async_nats::{Client, ConnectErrorKind, ConnectOptions};
use tokio::time::{Instant, sleep};

use super::error::ClusterError;
use super::transport::{
    Arrival, Arrivals, Backoff, ClusterKey, ClusterSubject, ClusterTransport, KeyKind, Message, PublishError,
    Unreachable,
};
use crate::crawl::{Secret, tls_for_servers};

/// How long to wait for an answer. A cluster needs a few seconds to elect another leader.
const ANSWER: Duration = Duration::from_secs(3);
/// Each message is on this many servers, if there are that many.
const REPLICAS: usize = 3;
/// A crawl has at most this many logs.
const MOST_LOGS: u32 = 8;
/// Partitions for each log, up to `MOST_LOGS` logs.
const PARTITIONS: u32 = 32;
/// At most this many messages await their acknowledgment at once.
const IN_FLIGHT: usize = 200;
/// At most this many announced messages of a subject wait for their reader. Further messages are read from the log.
const UNTAKEN: usize = 256;
/// Servers that have just started may fail to find or create a stream for this long.
const SETTLES: Duration = Duration::from_secs(15);
/// The servers' answer for a stream that they do not have.
const NOT_FOUND: &str = "stream not found";
/// How long to wait for a connection when a crawl begins.
const CONNECT: Duration = Duration::from_secs(5);

/// The messages of one crawl, kept by NATS servers.
#[derive(Debug)]
pub(crate) struct Nats {
    context: Context,
    client: Client,
    crawl: String,
    keys: Stream,
    /// Unset until the number of logs is known.
    logs: OnceLock<Vec<Stream>>,
}

impl Nats {
    /// Connects, and opens the stream of a crawl's keys. With `makes`, creates it if it is missing.
    ///
    /// # Errors
    /// If no server can be reached or accepts our credentials, or the servers cannot store messages.
    pub(crate) async fn connect(servers: &Servers, crawl: &str, makes: bool) -> Result<Arc<Self>, ClusterError> {
        let client = client(servers).await?;
        let version = client.server_info().version;
        if is_older(&version) {
            tracing::warn!(
                version,
                "servers before 2.12.3 can lose stored messages when they are killed: use them only to try things out"
            );
        }
        let context =
            ContextBuilder::new().timeout(ANSWER).ack_timeout(ANSWER).max_ack_inflight(IN_FLIGHT).build(client.clone());
        // Made as a NATS key-value bucket is, so that NATS tools can show it.
        let keys = Config {
            name: format!("KV_crawler-{crawl}"),
            subjects: vec![format!("{}>", of_keys(crawl))],
            max_messages_per_subject: 1,
            allow_rollup: true,
            deny_delete: true,
            ..base()
        };
        let keys = stream(&context, keys, makes, &servers.to_string(), crawl).await?;
        Ok(Arc::new(Self { context, client, crawl: crawl.to_owned(), keys, logs: OnceLock::new() }))
    }

    /// Opens the logs of this many partitions. With `makes`, creates missing ones. Before this call, only keys can be read or published.
    ///
    /// # Errors
    /// If they are not there, or the servers do not answer.
    pub(crate) async fn open_logs(&self, partitions: u32, makes: bool, servers: &Servers) -> Result<(), ClusterError> {
        if self.logs.get().is_some() {
            return Ok(());
        }
        let mut logs = Vec::new();
        for number in 0..logs_of(partitions) {
            let log = Config {
                name: format!("crawler-{}-{number}", self.crawl),
                subjects: vec![format!("{}>", of_log(&self.crawl, number))],
                description: Some("a log of a crawl".to_owned()),
                republish: Some(Republish {
                    source: format!("{}>", of_log(&self.crawl, number)),
                    destination: echo(&format!("{}>", of_log(&self.crawl, number))),
                    headers_only: false,
                }),
                ..base()
            };
            logs.push(stream(&self.context, log, makes, &servers.to_string(), &self.crawl).await?);
        }
        // Only the task that has just connected opens them.
        self.logs.get_or_init(|| logs);
        Ok(())
    }

    /// The stream of a subject, and the subject's full name.
    fn place(&self, subject: &ClusterSubject) -> Result<(&Stream, String), Unreachable> {
        if matches!(subject, ClusterSubject::Key(_)) {
            return Ok((&self.keys, format!("{}{subject}", of_keys(&self.crawl))));
        }
        let logs = self.logs.get().ok_or_else(|| Unreachable("the logs are not open yet".to_owned()))?;
        let number = subject.partition().unwrap_or_default() as usize % logs.len();
        Ok((&logs[number], format!("{}{subject}", of_log(&self.crawl, number))))
    }
}

/// Whether a version is older than the first that is known to keep every message that it acknowledges.
fn is_older(version: &str) -> bool {
    let numbers = version.split(['.', '-']).map_while(|number| number.parse().ok());
    numbers.collect::<Vec<u32>>().as_slice() < &[2, 12, 3]
}

/// Over how many logs this many partitions are spread. This must never change: it determines where a message is.
fn logs_of(partitions: u32) -> u32 {
    partitions.div_ceil(PARTITIONS).min(MOST_LOGS)
}

/// The configuration that all streams have in common.
fn base() -> Config {
    Config { num_replicas: REPLICAS, discard: DiscardPolicy::New, ..Config::default() }
}

/// The prefix of the subjects of keys.
fn of_keys(crawl: &str) -> String {
    format!("$KV.crawler-{crawl}.")
}

/// The prefix of the subjects of a log.
fn of_log(crawl: &str, number: impl Display) -> String {
    format!("crawler.{crawl}.log.{number}.")
}

/// Where servers republish the messages of a subject.
fn echo(subject: &str) -> String {
    subject.replacen(".log.", ".told.", 1)
}

async fn client(servers: &Servers) -> Result<Client, ClusterError> {
    let addresses = servers.to_string();
    let mut options = ConnectOptions::new().name("crawler").connection_timeout(CONNECT).max_reconnects(None);
    options = options.subscription_capacity(UNTAKEN);
    let unusable = |reason: String| ClusterError::SignIn { key: "cluster.sign_in", reason };
    match servers.read().map_err(unusable)? {
        None => {}
        Some(ServerCredentials::Nkey(seed)) => options = options.nkey(seed),
        Some(ServerCredentials::Token(token)) => options = options.token(token),
        Some(ServerCredentials::UserAndPassword(user, password)) => options = options.user_and_password(user, password),
        Some(ServerCredentials::Signed(text)) => {
            let signed = options.credentials(&text);
            options = signed.map_err(|error| unusable(format!("the credentials cannot be used: {error}")))?;
        }
    }
    // The library's own configuration would use the process's cryptography provider, and install one if there is none.
    let tls = tls_for_servers(servers.ca_file.as_ref(), servers.certificate.as_ref());
    let of_files = |reason| ClusterError::SignIn { key: "cluster.ca_file or cluster.certificate", reason };
    let tls = tls.map_err(of_files)?;
    options = options.tls_client_config(tls);
    options.connect(servers.addresses.as_slice()).await.map_err(|error| match error.kind() {
        ConnectErrorKind::Authentication | ConnectErrorKind::AuthorizationViolation => {
            ClusterError::NotLetIn { addresses: addresses.clone() }
        }
        _ => ClusterError::Unreachable { addresses: addresses.clone(), reason: chain(&error) },
    })
}

/// Opens a stream, or creates it. Tries for a while, since servers that have just started may fail.
async fn stream(
    context: &Context,
    mut config: Config,
    makes: bool,
    addresses: &str,
    crawl: &str,
) -> Result<Stream, ClusterError> {
    let mut backoff = Backoff::new();
    let until = Instant::now() + SETTLES;
    loop {
        let reason = match context.get_stream(&config.name).await {
            Ok(stream) => return Ok(stream),
            Err(error) if makes => match context.create_stream(config.clone()).await {
                Ok(stream) => return Ok(stream),
                Err(made) => {
                    let reason = chain(&made);
                    // A single server keeps one copy.
                    if reason.contains("non-clustered") {
                        config.num_replicas = 1;
                    }
                    format!("{reason}; {}", chain(&error))
                }
            },
            Err(error) => chain(&error),
        };
        let is_missing = !makes && reason.contains(NOT_FOUND);
        if is_missing || Instant::now() >= until {
            let crawl = crawl.to_owned();
            return Err(if makes {
                let reason = format!("they do not keep messages (is JetStream on, with -js?): {reason}");
                ClusterError::Unreachable { addresses: addresses.to_owned(), reason }
            } else {
                ClusterError::NoCrawl { crawl, addresses: addresses.to_owned(), reason }
            });
        }
        sleep(backoff.next()).await;
    }
}

/// An error with its causes.
fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let causes = std::iter::successors(Some(error), |&error| error.source());
    causes.map(ToString::to_string).fold(String::new(), |text, cause| match text.as_str() {
        "" => cause,
        said if said.ends_with(&cause) => text,
        _ => format!("{text}: {cause}"),
    })
}

fn found(
    read: Result<async_nats::jetstream::message::StreamMessage, RawMessageError>,
) -> Result<Option<Message>, Unreachable> {
    match read {
        Ok(message) => Ok(Some(Message { sequence: message.sequence, bytes: message.payload.to_vec() })),
        Err(error) if error.kind() == RawMessageErrorKind::NoMessageFound => Ok(None),
        Err(error) => Err(Unreachable(chain(&error))),
    }
}

/// A message that a server has republished; `None` if it does not name the message before it.
fn arrival(message: &async_nats::Message) -> Option<Arrival> {
    let headers = message.headers.as_ref()?;
    let number = |name| headers.get(name)?.as_str().parse().ok();
    let (sequence, previous) = (number(NATS_SEQUENCE)?, number(NATS_LAST_SEQUENCE)?);
    Some(Arrival { message: Message { sequence, bytes: message.payload.to_vec() }, previous })
}

impl ClusterTransport for Nats {
    async fn publish(
        &self,
        subject: &ClusterSubject,
        bytes: Vec<u8>,
        after: Option<u64>,
        id: Option<String>,
    ) -> Result<u64, PublishError> {
        let mut message = PublishMessage::build().payload(bytes.into());
        if let Some(after) = after {
            message = message.expected_last_subject_sequence(after);
        }
        if let Some(id) = id {
            message = message.message_id(id);
        }
        let unanswered = |error: async_nats::jetstream::context::PublishError| match error.kind() {
            PublishErrorKind::WrongLastSequence => PublishError::Refused,
            _ => PublishError::Unanswered(chain(&error)),
        };
        let (_, name) = self.place(subject).map_err(|error| PublishError::Unanswered(error.0))?;
        let sent = self.context.send_publish(name, message).await.map_err(unanswered)?;
        Ok(sent.await.map_err(unanswered)?.sequence)
    }

    async fn next(&self, subject: &ClusterSubject, after: u64) -> Result<Option<Message>, Unreachable> {
        let (stream, name) = self.place(subject)?;
        found(stream.get_first_raw_message_by_subject(name, after + 1).await)
    }

    async fn last(&self, subject: &ClusterSubject) -> Result<Option<Message>, Unreachable> {
        let (stream, name) = self.place(subject)?;
        found(stream.get_last_raw_message_by_subject(&name).await)
    }

    async fn purge(&self, subject: &ClusterSubject, before: u64) -> Result<(), Unreachable> {
        // The servers would ignore 0 and 1, and purge the whole subject.
        if before <= 1 {
            return Ok(());
        }
        let (stream, name) = self.place(subject)?;
        let purging = stream.purge().sequence(before).filter(name);
        purging.await.map(drop).map_err(|error| Unreachable(chain(&error)))
    }

    async fn keys(&self, kind: KeyKind) -> Result<Vec<ClusterSubject>, Unreachable> {
        let prefix = format!("{}{}.", of_keys(&self.crawl), kind.name());
        let listed = self.keys.info_with_subjects(format!("{prefix}*")).await;
        let mut listed = listed.map_err(|error| Unreachable(chain(&error)))?;
        let mut keys: Vec<ClusterKey> = Vec::new();
        while let Some(subject) = futures_util::StreamExt::next(&mut listed).await {
            let (subject, _) = subject.map_err(|error| Unreachable(chain(&error)))?;
            keys.extend(subject.strip_prefix(&prefix).map(|end| kind.key(end)));
        }
        Ok(keys.into_iter().map(ClusterSubject::Key).collect())
    }

    async fn arrivals(&self, subject: &ClusterSubject) -> Result<Arrivals, Unreachable> {
        let (_, name) = self.place(subject)?;
        let subscribed = self.client.subscribe(echo(&name)).await;
        let mut subscription = subscribed.map_err(|error| Unreachable(chain(&error)))?;
        Ok(Arrivals::new(move |context| {
            loop {
                // Once the connection is closed for good, nothing more is announced.
                let Some(message) = ready!(futures_util::StreamExt::poll_next_unpin(&mut subscription, context)) else {
                    return Poll::Pending;
                };
                if let Some(arrival) = arrival(&message) {
                    return Poll::Ready(arrival);
                }
            }
        }))
    }

    async fn kept_at(&self, subject: &ClusterSubject) -> Result<Option<SystemTime>, Unreachable> {
        let (stream, name) = self.place(subject)?;
        match stream.get_last_raw_message_by_subject(&name).await {
            Ok(message) => {
                let nanos = u64::try_from(message.time.unix_timestamp_nanos()).unwrap_or_default();
                Ok(Some(SystemTime::UNIX_EPOCH + Duration::from_nanos(nanos)))
            }
            Err(error) if error.kind() == RawMessageErrorKind::NoMessageFound => Ok(None),
            Err(error) => Err(Unreachable(chain(&error))),
        }
    }

    async fn missing(&self) -> Result<Option<String>, Unreachable> {
        for stream in std::iter::once(&self.keys).chain(self.logs.get().into_iter().flatten()) {
            let name = &stream.cached_info().config.name;
            match self.context.get_stream(name).await.map_err(|error| chain(&error)) {
                Ok(_) => {}
                Err(reason) if reason.contains(NOT_FOUND) => return Ok(Some(format!("the stream {name}"))),
                Err(reason) => return Err(Unreachable(reason)),
            }
        }
        Ok(None)
    }

    async fn rest(&self, time: Duration) {
        sleep(time).await;
    }
}

/// The servers of a cluster, and our credentials for them.
#[derive(Clone, Debug, Default)]
pub struct Servers {
    /// Their addresses: `nats://host:port`, or `tls://` to require TLS.
    pub addresses: Vec<String>,
    /// Our credentials. They are read when a connection is made.
    pub sign_in: Option<Secret>,
    /// Certificates (PEM) to trust the servers by, in addition to the system's.
    pub ca_file: Option<PathBuf>,
    /// Our certificate and its key, as PEM.
    pub certificate: Option<(PathBuf, PathBuf)>,
}

/// Our credentials for the servers.
#[derive(PartialEq, Eq)]
pub(crate) enum ServerCredentials {
    /// The seed of an nkey.
    Nkey(String),
    /// A file of credentials, as `nsc` writes it.
    Signed(String),
    Token(String),
    UserAndPassword(String, String),
}

impl ServerCredentials {
    /// Tells the kind of a secret by its form: a credentials file, a seed of a user's key, `user:password`, or else a token.
    fn of(text: String) -> Self {
        let is_seed = text.len() == 58
            && text.starts_with("SU")
            && text.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit());
        if text.contains("-----BEGIN NATS USER JWT-----") {
            return Self::Signed(text);
        }
        if is_seed {
            return Self::Nkey(text);
        }
        match text.split_once(':') {
            Some((user, password)) => Self::UserAndPassword(user.to_owned(), password.to_owned()),
            None => Self::Token(text),
        }
    }
}

impl Servers {
    /// Our credentials; `None` if the servers need none.
    pub(crate) fn read(&self) -> Result<Option<ServerCredentials>, String> {
        self.sign_in.as_ref().map(|secret| secret.read().map(ServerCredentials::of)).transpose()
    }

    /// Refuses addresses that are malformed or contain a secret: addresses are shown and stored.
    ///
    /// # Errors
    /// The reason. It contains no secret.
    pub fn check(&self) -> Result<(), String> {
        if self.addresses.is_empty() {
            return Err("names no server".to_owned());
        }
        for address in &self.addresses {
            let (scheme, rest) = address.split_once("://").unwrap_or(("nats", address));
            if rest.contains('@') {
                return Err("has a user or a token in an address; put it where cluster.sign_in says".to_owned());
            }
            if !["nats", "tls"].contains(&scheme) || rest.is_empty() || rest.contains(['/', ' ']) {
                return Err(format!("{address:?} is not nats://HOST:PORT or tls://HOST:PORT"));
            }
        }
        Ok(())
    }
}

impl fmt::Display for Servers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.addresses.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_is_for_partitions_enough() {
        for (partitions, logs) in [(1, 1), (32, 1), (33, 2), (64, 2), (256, 8), (1024, 8)] {
            assert_eq!(logs_of(partitions), logs, "{partitions}");
        }
    }

    #[test]
    fn older_versions_are_known_by_their_numbers() {
        let versions = ["2.9.10", "2.12.2", "2.12.3-RC.1", "2.12.3", "2.15.1", "3.0.0"];
        assert_eq!(versions.map(is_older), [true, true, false, false, false, false]);
    }

    #[test]
    fn a_secret_is_known_by_its_form() {
        let of = |text: &str| ServerCredentials::of(text.to_owned());
        let seed = format!("SU{}", "A7".repeat(28));
        assert!(of(&seed) == ServerCredentials::Nkey(seed.clone()));
        assert!(of("ann:a:b") == ServerCredentials::UserAndPassword("ann".to_owned(), "a:b".to_owned()));
        assert!(of("SU1") == ServerCredentials::Token("SU1".to_owned()));
        let signed = "-----BEGIN NATS USER JWT-----\neyJ0:x\n";
        assert!(of(signed) == ServerCredentials::Signed(signed.to_owned()));
    }

    #[test]
    fn addresses_are_servers_and_no_secrets() {
        let check = |address: &str| Servers { addresses: vec![address.to_owned()], ..Servers::default() }.check();
        for good in ["nats://a:4222", "tls://a.example", "a:4222", "127.0.0.1"] {
            assert_eq!(check(good), Ok(()), "{good}");
        }
        for bad in ["nats://ann:secret@a", "http://a", "nats://", "nats://a/b", "a b"] {
            let reason = check(bad).unwrap_err();
            assert!(!reason.contains("secret"), "{reason}");
        }
        assert!(Servers::default().check().is_err());
    }
}
