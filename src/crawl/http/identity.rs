//! Who we are, in a way that a site can check: [`AgentIdentity`] signs requests with an Ed25519 key whose public half is on our own site.
//!
//! A signed request has three headers (RFC 9421, and draft-ietf-webbotauth-httpsig-protocol, "Web Bot Auth"):
//!
//! ```text
//! Signature-Agent: sig1="https://bot.example/.well-known/http-message-signatures-directory"
//! Signature-Input: sig1=("@authority" "signature-agent";key="sig1");created=…;keyid="…";alg="ed25519";expires=…;nonce="…";tag="web-bot-auth"
//! Signature: sig1=:…:
//! ```
//!
//! The site fetches the URL in `Signature-Agent`, finds the key whose JWK thumbprint (RFC 7638, RFC 8037 appendix A.3) is `keyid`, and
//! checks the signature over the host that was requested. Each attempt is signed anew, with a new nonce, so no signature is sent twice. A
//! CONNECT to a proxy is never signed.
//!
//! # Keys
//!
//! A key file is a JWK Set with the private halves, or one private JWK, or an Ed25519 key in PEM (PKCS#8), as `openssl genpkey` writes it.
//! If there are several keys, the one with the latest `nbf` in the past signs, and all that have not expired are in the directory. So a new
//! key can be published before it signs, and the old one for some time after. A file that changes is read again, at most once a second. If
//! it cannot be read, or has no key that signs now, the keys read before stay in force.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

use aws_lc_rs::signature::Ed25519KeyPair;
use base64::prelude::{BASE64_STANDARD, Engine};
use http::{HeaderMap, HeaderName, HeaderValue, Request};

use super::access::AccessError;
use super::access_rules::Secret;
use super::identity_keys::{IdentityKey, IdentityOptions, Jwk, JwkSet, agent_url, latest, seconds};
use crate::crawl::lock::lock;
use crate::driver::{HostPattern, HostTable};

/// The label of our signature.
const LABEL: &str = "sig1";
/// How far a site's clock may be off, in either direction: a signature is dated back by this, and holds longer by this.
const CLOCKS: u64 = 60;
/// A file is looked at again after this time.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

impl From<SigningError> for AccessError {
    fn from(error: SigningError) -> Self {
        let (key, reason) = match error {
            SigningError::Agent(reason) => ("agent", reason),
            SigningError::Host(name) => ("hosts", format!("{name:?} is no host's name")),
            SigningError::Key { of, reason } => ("key", format!("{of}: {reason}")),
            SigningError::Request(reason) => ("key", reason),
        };
        Self { table: "identity".to_owned(), name: String::new(), key: key.to_owned(), reason }
    }
}

/// Why there is no identity. It contains no secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SigningError {
    /// `identity.agent` is missing or unfit.
    #[error("identity.agent: {0}")]
    Agent(String),
    /// An entry of `identity.hosts` is not a host's name.
    #[error("identity.hosts: {0:?} is no host's name")]
    Host(String),
    /// The keys cannot be read.
    #[error("identity.key: {of}: {reason}")]
    Key {
        /// The file, or the variable.
        of: String,
        /// Why, and what to do.
        reason: String,
    },
    /// A request has no host, or one that cannot be in a header.
    #[error("not signed: {0}")]
    Request(String),
}

/// A key that signs, as it is kept.
struct Signer {
    pair: Ed25519KeyPair,
    thumbprint: Box<str>,
    nbf: Option<u64>,
    exp: Option<u64>,
}

/// The keys in force, and the state of their file when it was read.
struct Keys {
    signers: Arc<[Signer]>,
    stamp: Option<Stamp>,
    looked_at: Instant,
    /// The last logged reason why the file could not be read again.
    said: Option<String>,
}

/// The modification time, the length and the inode of a file. If any of them differs, the file has changed.
type Stamp = (SystemTime, u64, u64);

/// Signs requests, so that sites know who sent them. Shared by reference; many tasks may sign at once.
///
/// ```
/// use std::time::SystemTime;
/// use crawler::crawl::{AgentIdentity, IdentityOptions, Jwk, JwkSet};
///
/// let directory = tempfile::tempdir()?;
/// let file = directory.path().join("identity.json");
/// std::fs::write(&file, JwkSet { keys: vec![Jwk::generate(None)?] }.to_json())?;
/// # #[cfg(unix)]
/// # std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o600))?;
///
/// let mut options = IdentityOptions::default();
/// options.key = file.to_str().and_then(|file| file.parse().ok());
/// options.agent = Some("https://bot.example".to_owned());
/// let identity = AgentIdentity::open(&options)?.expect("a key is given");
/// let mut request = http::Request::get("https://example.org/a").body(())?;
/// identity.sign(&mut request, SystemTime::now())?;
/// assert!(request.headers().contains_key("signature"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Cost
/// A signature takes some 16 microseconds of one core, and the three headers about 450 bytes.
pub struct AgentIdentity {
    source: IdentityKey,
    agent: Box<str>,
    validity: u64,
    hosts: Option<HostTable<()>>,
    keys: Mutex<Keys>,
}

impl fmt::Debug for AgentIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AgentIdentity")
            .field("source", &self.source)
            .field("agent", &self.agent)
            .finish_non_exhaustive()
    }
}

/// The headers of a signature.
#[derive(Clone, Debug)]
pub struct SignatureHeaders {
    /// `Signature-Agent`.
    pub agent: HeaderValue,
    /// `Signature-Input`.
    pub input: HeaderValue,
    /// `Signature`. Marked as sensitive: HTTP/2 keeps it out of its tables, and no output shows it.
    pub signature: HeaderValue,
}

/// The names of the headers of a signature.
const NAMES: [HeaderName; 3] = [
    HeaderName::from_static("signature-agent"),
    HeaderName::from_static("signature-input"),
    HeaderName::from_static("signature"),
];

impl SignatureHeaders {
    /// Adds them to a request's headers, in the place of any that are there.
    pub fn add_to(self, headers: &mut HeaderMap) {
        for (name, value) in NAMES.into_iter().zip([self.agent, self.input, self.signature]) {
            headers.insert(name, value);
        }
    }
}

impl AgentIdentity {
    /// Reads the keys; `None` if the options have none.
    ///
    /// # Errors
    /// If the agent's URL is missing or not https, a host is no name, the file can be read by others than its owner, or it has no key that
    /// signs now. The error names the file, and what to do.
    pub fn open(options: &IdentityOptions) -> Result<Option<Self>, SigningError> {
        let Some(source) = options.key.clone() else { return Ok(None) };
        let agent = agent_url(options.agent.as_deref()).map_err(SigningError::Agent)?.into();
        let hosts = hosts(&options.hosts)?;
        let (signers, stamp) = read(&source).map_err(|reason| SigningError::Key { of: source.to_string(), reason })?;
        let validity = options.validity.as_secs().max(1);
        let keys = Keys { signers, stamp, looked_at: Instant::now(), said: None };
        Ok(Some(Self { source, agent, validity, hosts, keys: Mutex::new(keys) }))
    }

    /// Checks the options, but reads no key.
    ///
    /// # Errors
    /// As [`open`](Self::open), except for the keys.
    pub fn check(options: &IdentityOptions) -> Result<(), SigningError> {
        hosts(&options.hosts)?;
        if options.key.is_some() || options.agent.is_some() {
            agent_url(options.agent.as_deref()).map_err(SigningError::Agent)?;
        }
        Ok(())
    }

    /// The URL of the directory of our keys, as it is sent.
    pub fn agent(&self) -> &str {
        &self.agent
    }

    /// Whether requests to this host are signed.
    pub fn is_for(&self, host: &str) -> bool {
        self.hosts.as_ref().is_none_or(|hosts| hosts.get(host).is_some())
    }

    /// Signs a request for the host in its URL, or in its `Host` header if the URL has none. Sign a request again each time it is sent.
    ///
    /// # Errors
    /// If it has no host, or no key signs at this time.
    pub fn sign<B>(&self, request: &mut Request<B>, now: SystemTime) -> Result<(), SigningError> {
        let authority = authority(request);
        let authority = authority.ok_or_else(|| SigningError::Request("the request has no host".to_owned()))?;
        self.headers(&authority, now)?.add_to(request.headers_mut());
        Ok(())
    }

    /// The headers of a new signature for a host: its name in lower case, with the port unless that is the scheme's default.
    ///
    /// # Errors
    /// If no key signs at this time, or the host cannot be in a header.
    pub fn headers(&self, authority: &str, now: SystemTime) -> Result<SignatureHeaders, SigningError> {
        let mut nonce = [0; 64];
        let unfit = |_| SigningError::Request("the system has no random numbers".to_owned());
        aws_lc_rs::rand::fill(&mut nonce).map_err(unfit)?;
        let signers = self.signers();
        let now = seconds(now);
        let signer = signing(&signers, now)
            .ok_or_else(|| SigningError::Key { of: self.source.to_string(), reason: NONE_SIGNS.to_owned() })?;
        signed(signer, LABEL, &self.agent, authority, dates(now, self.validity), &nonce)
    }

    /// The keys in force. A file that has changed is read again.
    fn signers(&self) -> Arc<[Signer]> {
        let mut keys = lock(&self.keys);
        if let Secret::File(path) = &self.source.0
            && keys.looked_at.elapsed() >= LOOK_AGAIN
        {
            keys.looked_at = Instant::now();
            let stamp = stamp_of(path);
            if stamp != keys.stamp {
                match read(&self.source) {
                    Ok((signers, stamp)) => {
                        tracing::info!(file = %path.display(), "the identity's key file has changed, and was read again");
                        (keys.signers, keys.stamp, keys.said) = (signers, stamp, None);
                    }
                    Err(reason) if keys.said.as_ref() != Some(&reason) => {
                        tracing::warn!(file = %path.display(), reason, "the identity's key file cannot be read again: the keys read before sign");
                        keys.said = Some(reason);
                    }
                    Err(_) => {}
                }
            }
        }
        Arc::clone(&keys.signers)
    }
}

const NONE_SIGNS: &str = "none of its keys signs now: crawler identity new FILE adds one";

/// The key that signs at this time: see [`JwkSet::signing`].
fn signing(signers: &[Signer], now: u64) -> Option<&Signer> {
    latest(signers, now, |signer| (signer.nbf, signer.exp))
}

/// The host that a request is for, as it is signed (RFC 9421 section 2.2.3): without a user, in lower case, and without the scheme's
/// default port.
fn authority<B>(request: &Request<B>) -> Option<String> {
    let of_host = || request.headers().get(http::header::HOST).and_then(|host| host.to_str().ok());
    let authority = request.uri().authority().map(http::uri::Authority::as_str).or_else(of_host)?;
    let authority = authority.rsplit_once('@').map_or(authority, |(_, authority)| authority).to_ascii_lowercase();
    let port = if request.uri().scheme_str() == Some("http") { ":80" } else { ":443" };
    Some(authority.strip_suffix(port).map(str::to_owned).unwrap_or(authority))
}

/// The times from which and until which a signature made now is valid.
fn dates(now: u64, validity: u64) -> (u64, u64) {
    (now.saturating_sub(CLOCKS), now + validity + CLOCKS)
}

/// The headers of a signature by this key.
fn signed(
    signer: &Signer,
    label: &str,
    agent: &str,
    authority: &str,
    dates: (u64, u64),
    nonce: &[u8],
) -> Result<SignatureHeaders, SigningError> {
    let params = params(label, &signer.thumbprint, dates, &BASE64_STANDARD.encode(nonce));
    let signature = BASE64_STANDARD.encode(signer.pair.sign(base(label, authority, agent, &params).as_bytes()));
    let unfit = |_| SigningError::Request("the host cannot be in a header".to_owned());
    let value = |text: String| HeaderValue::try_from(text).map_err(unfit);
    let mut signature = value(format!("{label}=:{signature}:"))?;
    signature.set_sensitive(true);
    Ok(SignatureHeaders {
        agent: value(format!("{label}=\"{agent}\""))?,
        input: value(format!("{label}={params}"))?,
        signature,
    })
}

/// The parameters of a signature (RFC 9421 section 2.3), with its components.
fn params(label: &str, thumbprint: &str, (created, expires): (u64, u64), nonce: &str) -> String {
    format!(
        "(\"@authority\" \"signature-agent\";key=\"{label}\");created={created};keyid=\"{thumbprint}\";alg=\"ed25519\";\
         expires={expires};nonce=\"{nonce}\";tag=\"web-bot-auth\""
    )
}

/// The signature base: the text that is signed (RFC 9421 section 2.5).
fn base(label: &str, authority: &str, agent: &str, params: &str) -> String {
    format!(
        "\"@authority\": {authority}\n\"signature-agent\";key=\"{label}\": \"{agent}\"\n\"@signature-params\": {params}"
    )
}

fn hosts(names: &[String]) -> Result<Option<HostTable<()>>, SigningError> {
    if names.is_empty() {
        return Ok(None);
    }
    let mut patterns = BTreeMap::new();
    for name in names {
        let pattern = HostPattern::parse(name).ok_or_else(|| SigningError::Host(name.clone()))?;
        patterns.insert(pattern, true);
    }
    HostTable::of(&patterns, |_| Ok::<(), SigningError>(())).map(Some)
}

fn stamp_of(path: &Path) -> Option<Stamp> {
    let metadata = std::fs::metadata(path).ok()?;
    #[cfg(unix)]
    let inode = std::os::unix::fs::MetadataExt::ino(&metadata);
    #[cfg(not(unix))]
    let inode = 0;
    Some((metadata.modified().ok()?, metadata.len(), inode))
}

/// Reads the keys. The stamp is taken first: a file that changes meanwhile is read again.
fn read(source: &IdentityKey) -> Result<(Arc<[Signer]>, Option<Stamp>), String> {
    let stamp = match &source.0 {
        Secret::File(path) => {
            check_mode(path)?;
            stamp_of(path)
        }
        Secret::Environment(_) => None,
    };
    let text = source.0.read().map_err(|error| match &source.0 {
        Secret::File(_) => format!("{error}; crawler identity new FILE makes one"),
        Secret::Environment(_) => error,
    })?;
    let set = JwkSet::read(&text)?;
    let signers: Arc<[_]> = set.keys.iter().map(signer).collect::<Result<_, _>>()?;
    signing(&signers, seconds(SystemTime::now())).ok_or(NONE_SIGNS)?;
    Ok((signers, stamp))
}

fn signer(key: &Jwk) -> Result<Signer, String> {
    key.pair().map(|pair| Signer { pair, thumbprint: key.thumbprint().into(), nbf: key.nbf, exp: key.exp })
}

/// A key file must be its owner's alone.
fn check_mode(path: &Path) -> Result<(), String> {
    #[cfg(unix)]
    if let Ok(metadata) = std::fs::metadata(path) {
        let mode = std::os::unix::fs::PermissionsExt::mode(&metadata.permissions()) & 0o777;
        if mode & 0o077 != 0 {
            return Err(format!("others than its owner may read it (mode {mode:o}): chmod 600 {}", path.display()));
        }
    }
    let _ = path;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::time::UNIX_EPOCH;

    use serde_json::Value;

    use super::*;
    use crate::crawl::http::identity_keys::write_keys;

    /// RFC 8037, RFC 9421, the draft, and ours. The Python package reads them too, and makes the same bytes.
    #[test]
    fn the_vectors_of_the_standards_and_ours() {
        let vectors: Value = serde_json::from_str(include_str!("../../../tests/identity/vectors.json")).unwrap();
        let of = |name: &str| vectors[name].as_array().unwrap();
        let text = |vector: &Value, name: &str| vector[name].as_str().unwrap().to_owned();
        let number = |vector: &Value, name: &str| vector[name].as_u64().unwrap();
        let key =
            |vector: &Value| -> Jwk { serde_json::from_value(vectors["keys"][&text(vector, "key")].clone()).unwrap() };
        for vector in of("thumbprints") {
            assert_eq!(key(vector).thumbprint(), text(vector, "thumbprint"), "{vector}");
        }
        for vector in of("signatures") {
            let (bytes, expected) = (text(vector, "text"), text(vector, "signature"));
            assert_eq!(
                BASE64_STANDARD.encode(key(vector).pair().unwrap().sign(bytes.as_bytes())),
                expected,
                "{vector}"
            );
            assert!(key(vector).verifies(bytes.as_bytes(), &BASE64_STANDARD.decode(expected).unwrap()));
        }
        for vector in of("requests") {
            let nonce = BASE64_STANDARD.decode(text(vector, "nonce")).unwrap();
            let valid = (number(vector, "created"), number(vector, "expires"));
            let signer = signer(&key(vector)).unwrap();
            let (label, agent) = (text(vector, "label"), text(vector, "agent"));
            let headers = signed(&signer, &label, &agent, &text(vector, "authority"), valid, &nonce).unwrap();
            for (name, value) in [
                ("Signature-Agent", headers.agent),
                ("Signature-Input", headers.input),
                ("Signature", headers.signature),
            ] {
                assert_eq!(value, text(&vector["headers"], name), "{vector}");
            }
            if vector["url"].is_string() {
                let request = Request::get(text(vector, "url")).body(()).unwrap();
                assert_eq!(authority(&request), Some(text(vector, "authority")));
                assert_eq!(dates(number(vector, "now"), number(vector, "validity")), valid);
            }
        }
        for vector in of("files") {
            let set: JwkSet = serde_json::from_value(vector.clone()).unwrap();
            let now = UNIX_EPOCH + Duration::from_secs(number(vector, "now"));
            assert_eq!(set.signing(now).map(Jwk::thumbprint), Some(text(vector, "signs")));
            assert_eq!(set.directory(now).to_json(), text(vector, "directory"));
        }
    }

    fn identity(directory: &Path, keys: &[Jwk]) -> AgentIdentity {
        let file = directory.join("identity.json");
        write_keys(&file, &JwkSet { keys: keys.to_vec() }).unwrap();
        let options = IdentityOptions {
            key: file.to_str().unwrap().parse().ok(),
            agent: Some("https://Bot.example".to_owned()),
            ..IdentityOptions::default()
        };
        AgentIdentity::open(&options).unwrap().unwrap()
    }

    /// Checks the signature of a request as a site would; returns who signed it, and its nonce.
    fn checked(headers: &SignatureHeaders, authority: &str, keys: &[Jwk], now: u64) -> Option<(String, String)> {
        let input = headers.input.to_str().unwrap().strip_prefix("sig1=")?;
        let agent = headers.agent.to_str().unwrap().strip_prefix("sig1=")?;
        let base = format!(
            "\"@authority\": {authority}\n\"signature-agent\";key=\"sig1\": {agent}\n\"@signature-params\": {input}"
        );
        let of = |name: &str| input.split(';').find_map(|part| part.strip_prefix(name));
        let (created, expires): (u64, u64) = (of("created=")?.parse().ok()?, of("expires=")?.parse().ok()?);
        let signature = headers.signature.to_str().unwrap().strip_prefix("sig1=:")?.strip_suffix(':')?;
        let signature = BASE64_STANDARD.decode(signature).ok()?;
        let key = keys.iter().find(|key| of("keyid=") == Some(&format!("\"{}\"", key.thumbprint())))?;
        let holds = created <= now && now < expires && key.verifies(base.as_bytes(), &signature);
        holds.then(|| (key.thumbprint(), of("nonce=").unwrap().to_owned()))
    }

    #[test]
    fn each_signature_is_new_and_holds_for_its_host_and_clocks_off_by_a_minute() {
        let directory = tempfile::tempdir().unwrap();
        let keys = [Jwk::generate(None).unwrap()];
        let identity = identity(directory.path(), &keys);
        let now = UNIX_EPOCH + Duration::from_secs(1_800_000_000);
        let [one, two] = [(); 2].map(|()| identity.headers("example.org:8080", now).unwrap());
        assert_eq!(one.agent, "sig1=\"https://bot.example/.well-known/http-message-signatures-directory\"");
        for off in [-60, 0, 60, 119] {
            let theirs = 1_800_000_000_u64.checked_add_signed(off).unwrap();
            let [one, two] = [&one, &two].map(|headers| checked(headers, "example.org:8080", &keys, theirs).unwrap());
            assert!(one.0 == two.0 && one.1 != two.1, "{off}");
        }
        for (authority, theirs) in
            [("example.org", 1_800_000_000), ("example.org:8080", 1_800_000_120), ("example.org:8080", 1_799_999_939)]
        {
            assert_eq!(checked(&one, authority, &keys, theirs), None);
        }
        assert!(one.signature.is_sensitive());
    }

    #[test]
    fn any_request_can_be_signed() {
        let directory = tempfile::tempdir().unwrap();
        let keys = [Jwk::generate(None).unwrap()];
        let identity = identity(directory.path(), &keys);
        for (uri, host, authority) in [
            ("https://Example.org/a", None, "example.org"),
            ("https://example.org:443/a", None, "example.org"),
            ("http://example.org:80/a", None, "example.org"),
            ("http://example.org:443/a", None, "example.org:443"),
            ("/a", Some("example.org:8080"), "example.org:8080"),
        ] {
            let mut request = Request::get(uri);
            if let Some(host) = host {
                request = request.header("host", host);
            }
            let mut request = request.body(()).unwrap();
            identity.sign(&mut request, SystemTime::now()).unwrap();
            let [agent, input, signature] = NAMES.map(|name| request.headers()[name].clone());
            let headers = SignatureHeaders { agent, input, signature };
            assert!(checked(&headers, authority, &keys, seconds(SystemTime::now())).is_some(), "{uri}");
        }
        assert!(identity.sign(&mut Request::get("/a").body(()).unwrap(), SystemTime::now()).is_err());
    }

    #[test]
    fn a_file_that_changes_is_read_anew_and_a_broken_one_changes_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let keys = [(); 2].map(|()| Jwk::generate(None).unwrap());
        let identity = identity(directory.path(), &keys[..1]);
        let file = directory.path().join("identity.json");
        let signer = || {
            // As if a second had passed.
            lock(&identity.keys).looked_at -= LOOK_AGAIN;
            let headers = identity.headers("a.test", SystemTime::now()).unwrap();
            checked(&headers, "a.test", &keys, seconds(SystemTime::now())).unwrap().0
        };
        assert_eq!(signer(), keys[0].thumbprint());
        std::fs::write(&file, "half a fi").unwrap();
        assert_eq!(signer(), keys[0].thumbprint());
        std::fs::remove_file(&file).unwrap();
        assert_eq!(signer(), keys[0].thumbprint());
        let mut over = keys[1].clone();
        over.publish_until(SystemTime::now() - Duration::from_secs(1));
        write_keys(&file, &JwkSet { keys: vec![over] }).unwrap();
        assert_eq!(signer(), keys[0].thumbprint());
        write_keys(&file, &JwkSet { keys: keys[1..].to_vec() }).unwrap();
        assert_eq!(signer(), keys[1].thumbprint());
    }

    #[cfg(unix)]
    #[test]
    fn a_file_that_others_can_read_is_refused_with_what_to_do() {
        use std::os::unix::fs::PermissionsExt;
        let directory = tempfile::tempdir().unwrap();
        drop(identity(directory.path(), &[Jwk::generate(None).unwrap()]));
        let file = directory.path().join("identity.json");
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o640)).unwrap();
        let key = file.to_str().unwrap().parse().ok();
        let options =
            IdentityOptions { key, agent: Some("https://bot.example".to_owned()), ..IdentityOptions::default() };
        let error = AgentIdentity::open(&options).unwrap_err().to_string();
        let path = file.display();
        let said = format!("identity.key: {path}: others than its owner may read it (mode 640): chmod 600 {path}");
        assert_eq!(error, said);
    }

    #[test]
    fn an_agent_is_an_https_url_and_hosts_are_names() {
        for (agent, expected) in [
            (Some("https://bot.example"), Some("https://bot.example/.well-known/http-message-signatures-directory")),
            (
                Some("https://bot.example:8443/"),
                Some("https://bot.example:8443/.well-known/http-message-signatures-directory"),
            ),
            (Some("https://bot.example/keys.json"), Some("https://bot.example/keys.json")),
            (Some("http://bot.example"), None),
            (Some("https://me@bot.example"), None),
            (Some("https://bot.example/?a"), None),
            (Some("bot.example"), None),
            (Some(""), None),
            (None, None),
        ] {
            assert_eq!(agent_url(agent).ok().as_deref(), expected, "{agent:?}");
        }
        let directory = tempfile::tempdir().unwrap();
        let mut all = identity(directory.path(), &[Jwk::generate(None).unwrap()]);
        assert!(all.is_for("a.test"));
        all.hosts = hosts(&["*.b.test".to_owned()]).unwrap();
        assert!(all.is_for("x.b.test") && all.is_for("b.test") && !all.is_for("a.test"));
        assert_eq!(hosts(&["a b".to_owned()]).err(), Some(SigningError::Host("a b".to_owned())));
    }
}
