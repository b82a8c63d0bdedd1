//! The transport over NATS and its kept streams: the one door to its client.
//!
//! A crawl has two streams, with three replicas where there are three servers: its log, of which nothing is removed, and its keys, of which
//! the last values are kept. A message is acknowledged once most of the servers have it.

use std::sync::Arc;
use std::time::Duration;

use async_nats::jetstream::context::{Context, ContextBuilder, PublishErrorKind};
use async_nats::jetstream::message::PublishMessage;
use async_nats::jetstream::stream::{Config, DiscardPolicy, RawMessageError, RawMessageErrorKind, Stream};
use async_nats::{Client, ConnectErrorKind, ConnectOptions};
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use super::error::ClusterError;
use super::sign_in::{ServerCredentials, Servers};
use super::subject::{ClusterKey, ClusterSubject, KeyKind};
use super::transport::{AbortOnDrop, Backoff, ClusterTransport, Hints, Message, PublishError, Unreachable};

/// How long an answer is waited for. To elect another leader takes a cluster a few seconds.
const ANSWER: Duration = Duration::from_secs(3);
/// Servers that have each message, where there are so many.
const REPLICAS: usize = 3;
/// Messages on their way to be acknowledged, at most.
const IN_FLIGHT: usize = 200;
/// How long what was just made may answer oddly.
const SETTLES: Duration = Duration::from_secs(15);
/// How long a crawl waits for a connection when it begins.
const CONNECT: Duration = Duration::from_secs(5);

/// The messages of one crawl, kept by NATS servers.
#[derive(Debug)]
pub(crate) struct Nats {
    context: Context,
    client: Client,
    /// What the subjects of the log begin with, and those of the keys.
    prefixes: [String; 2],
    log: Stream,
    keys: Stream,
}

impl Nats {
    /// Connects, and finds the streams of a crawl or, with `makes`, makes them.
    ///
    /// # Errors
    /// Where no server can be reached, none lets us in, or they cannot keep what is published.
    pub(crate) async fn connect(servers: &Servers, crawl: &str, makes: bool) -> Result<Arc<Self>, ClusterError> {
        let client = client(servers).await?;
        let addresses = servers.to_string();
        let context =
            ContextBuilder::new().timeout(ANSWER).ack_timeout(ANSWER).max_ack_inflight(IN_FLIGHT).build(client.clone());
        let bucket = format!("crawler-{crawl}");
        let prefixes = [format!("crawler.{crawl}."), format!("$KV.{bucket}.")];
        let base = Config { num_replicas: REPLICAS, discard: DiscardPolicy::New, ..Config::default() };
        let log = Config {
            name: bucket.clone(),
            subjects: vec![format!("{}log.>", prefixes[0])],
            description: Some("the log of a crawl".to_owned()),
            ..base.clone()
        };
        // As a bucket of keys is made, so that its tools can show it.
        let keys = Config {
            name: format!("KV_{bucket}"),
            subjects: vec![format!("{}>", prefixes[1])],
            max_messages_per_subject: 1,
            allow_rollup: true,
            deny_delete: true,
            ..base
        };
        let log = stream(&context, log, makes, &addresses, crawl).await?;
        let keys = stream(&context, keys, makes, &addresses, crawl).await?;
        Ok(Arc::new(Self { context, client, prefixes, log, keys }))
    }

    /// The whole of a subject.
    fn full(&self, subject: &ClusterSubject) -> String {
        let [log, keys] = &self.prefixes;
        let prefix = if matches!(subject, ClusterSubject::Key(_)) { keys } else { log };
        format!("{prefix}{subject}")
    }

    fn stream(&self, subject: &ClusterSubject) -> &Stream {
        if matches!(subject, ClusterSubject::Key(_)) { &self.keys } else { &self.log }
    }
}

async fn client(servers: &Servers) -> Result<Client, ClusterError> {
    let addresses = servers.to_string();
    let mut options = ConnectOptions::new().name("crawler").connection_timeout(CONNECT).max_reconnects(None);
    let unusable = |reason: String| ClusterError::SignIn { reason };
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
    if let Some(path) = &servers.ca_file {
        options = options.add_root_certificates(path.clone());
    }
    if let Some((certificate, key)) = &servers.certificate {
        options = options.add_client_certificate(certificate.clone(), key.clone());
    }
    options.connect(servers.addresses.as_slice()).await.map_err(|error| match error.kind() {
        ConnectErrorKind::Authentication | ConnectErrorKind::AuthorizationViolation => {
            ClusterError::NotLetIn { addresses: addresses.clone() }
        }
        _ => ClusterError::Unreachable { addresses: addresses.clone(), reason: chain(&error) },
    })
}

/// Finds a stream, or makes it. Just after servers have begun, they may refuse for a moment.
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
                    // A server alone keeps one copy.
                    if reason.contains("non-clustered") {
                        config.num_replicas = 1;
                    }
                    format!("{reason}; {}", chain(&error))
                }
            },
            Err(error) => chain(&error),
        };
        let is_missing = !makes && reason.contains("stream not found");
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
        let sent = self.context.send_publish(self.full(subject), message).await.map_err(unanswered)?;
        Ok(sent.await.map_err(unanswered)?.sequence)
    }

    async fn next(&self, subject: &ClusterSubject, behind: u64) -> Result<Option<Message>, Unreachable> {
        found(self.stream(subject).get_first_raw_message_by_subject(self.full(subject), behind + 1).await)
    }

    async fn last(&self, subject: &ClusterSubject) -> Result<Option<Message>, Unreachable> {
        found(self.stream(subject).get_last_raw_message_by_subject(&self.full(subject)).await)
    }

    async fn purge(&self, subject: &ClusterSubject, before: u64) -> Result<(), Unreachable> {
        // Servers take these for no number at all, and would purge the whole subject.
        if before <= 1 {
            return Ok(());
        }
        let purging = self.stream(subject).purge().sequence(before).filter(self.full(subject));
        purging.await.map(drop).map_err(|error| Unreachable(chain(&error)))
    }

    async fn keys(&self, kind: KeyKind) -> Result<Vec<ClusterSubject>, Unreachable> {
        let prefix = format!("{}{}.", self.prefixes[1], kind.name());
        let listed = self.keys.info_with_subjects(format!("{prefix}*")).await;
        let mut listed = listed.map_err(|error| Unreachable(chain(&error)))?;
        let mut keys: Vec<ClusterKey> = Vec::new();
        while let Some(subject) = futures_util::StreamExt::next(&mut listed).await {
            let (subject, _) = subject.map_err(|error| Unreachable(chain(&error)))?;
            keys.extend(subject.strip_prefix(&prefix).map(|end| kind.key(end)));
        }
        Ok(keys.into_iter().map(ClusterSubject::Key).collect())
    }

    async fn hints(&self, subject: &ClusterSubject) -> Result<Hints, Unreachable> {
        let subscribed = self.client.subscribe(self.full(subject)).await;
        let mut subscription = subscribed.map_err(|error| Unreachable(chain(&error)))?;
        let told = Arc::new(Notify::new());
        let mut tasks = JoinSet::new();
        let tell = Arc::clone(&told);
        let teller = tasks.spawn(async move {
            while futures_util::StreamExt::next(&mut subscription).await.is_some() {
                tell.notify_one();
            }
        });
        tasks.detach_all();
        Ok(Hints { told, _teller: Some(AbortOnDrop(teller)) })
    }

    async fn rest(&self, time: Duration) {
        sleep(time).await;
    }
}
