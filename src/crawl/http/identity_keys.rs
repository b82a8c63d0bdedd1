//! The options of an [`AgentIdentity`](super::AgentIdentity), and its keys as JSON Web Keys (RFC 7517, RFC 8037): their file, their
//! thumbprints, and the directory that sites fetch.

use std::fmt;
#[cfg(any(test, feature = "cli"))]
use std::io::Write;
#[cfg(any(test, feature = "cli"))]
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use aws_lc_rs::digest::{SHA256, digest};
use aws_lc_rs::signature::{ED25519, Ed25519KeyPair, KeyPair, UnparsedPublicKey};
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD, Engine};
use serde::{Deserialize, Serialize};

use super::access_rules::Secret;
use crate::address::{Canonicalizer, KeyRules};

/// Where a site looks for our keys, if `agent` names our site alone.
pub(crate) const DIRECTORY_PATH: &str = "/.well-known/http-message-signatures-directory";
/// The media type of that file.
#[cfg(feature = "cli")]
pub(crate) const DIRECTORY_TYPE: &str = "application/http-message-signatures-directory+json";

/// The identity that requests are signed with.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct IdentityOptions {
    /// The key file, or the environment variable that has its content. `None` signs nothing.
    pub key: Option<IdentityKey>,
    /// The URL of the directory of our keys, by which sites know us. A site alone, such as `https://bot.example`, stands for the well-known
    /// path there.
    pub agent: Option<String>,
    /// How long a signature is valid. A minute is added at both ends, for sites whose clocks are off.
    pub validity: Duration,
    /// The hosts that requests are signed for: `example.org`, or `*.example.org` with all below it. If empty, all hosts.
    pub hosts: Vec<String>,
}

impl IdentityOptions {
    /// The site of the agent, if requests are signed: `https://bot.example/`.
    pub(super) fn site(&self) -> Option<String> {
        self.key.as_ref()?;
        let agent = agent_url(self.agent.as_deref()).ok()?;
        let host = agent.split('/').nth(2)?;
        Some(format!("https://{host}/"))
    }
}

impl Default for IdentityOptions {
    fn default() -> Self {
        Self { key: None, agent: None, validity: Duration::from_secs(60), hosts: Vec::new() }
    }
}

/// Where keys are: a file's path, or `env:VARIABLE`. The keys appear in no setting, record or log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdentityKey(pub Secret);

impl FromStr for IdentityKey {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        match text.parse() {
            Ok(secret) => Ok(Self(secret)),
            Err(()) if text.is_empty() || text.starts_with("env:") => Err(()),
            Err(()) => Ok(Self(Secret::File(text.into()))),
        }
    }
}

impl fmt::Display for IdentityKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Secret::File(path) => write!(f, "{}", path.display()),
            secret @ Secret::Environment(_) => secret.fmt(f),
        }
    }
}

/// The URL that is sent as the agent: https, without user, query or fragment. A site alone stands for the well-known path there.
pub(super) fn agent_url(agent: Option<&str>) -> Result<String, String> {
    const NEEDED: &str = "set it to the site where your keys are published, such as https://bot.example";
    let agent = agent.filter(|agent| !agent.is_empty()).ok_or(NEEDED)?;
    let url = Canonicalizer::new(&KeyRules::default()).canonicalize(agent).ok();
    let unfit = || format!("{agent:?} is no https URL without user, query and fragment: {NEEDED}");
    let url = url.filter(|url| url.origin().starts_with("https:") && !agent.contains(['?', '#', '@', '"', '\\']));
    let url = url.ok_or_else(unfit)?;
    let path = if url.path_and_query() == "/" { DIRECTORY_PATH } else { url.path_and_query() };
    Ok(format!("{}{path}", url.origin()))
}

/// The bytes before an Ed25519 key in PKCS#8: version 0, the OID of Ed25519, and two octet strings (RFC 8410 section 7).
const PKCS8_HEAD: [u8; 16] = [48, 46, 2, 1, 0, 48, 5, 6, 3, 43, 101, 112, 4, 34, 4, 32];
/// A file with more keys than this is refused.
const MOST_KEYS: usize = 32;

/// A key as JSON (RFC 7517, RFC 8037). `d` is its private half.
#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Jwk {
    kty: String,
    crv: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    kid: Option<String>,
    x: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    d: Option<String>,
    #[serde(rename = "use", skip_serializing_if = "Option::is_none")]
    used_for: Option<String>,
    /// It signs from this time on, in seconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) nbf: Option<u64>,
    /// It is not published after this time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) exp: Option<u64>,
}

impl fmt::Debug for Jwk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Jwk")
            .field("x", &self.x)
            .field("nbf", &self.nbf)
            .field("exp", &self.exp)
            .finish_non_exhaustive()
    }
}

/// Several keys.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct JwkSet {
    /// The keys.
    pub keys: Vec<Jwk>,
}

impl Jwk {
    /// A new private key that signs from `from` on.
    ///
    /// # Errors
    /// If the system has no random numbers.
    pub fn generate(from: Option<SystemTime>) -> Result<Self, String> {
        let mut seed = [0; 32];
        aws_lc_rs::rand::fill(&mut seed).map_err(|_| "the system has no random numbers")?;
        Self::of_seed(&seed).map(|key| Self { nbf: from.map(seconds), ..key })
    }

    fn of_seed(seed: &[u8]) -> Result<Self, String> {
        let pair = Ed25519KeyPair::from_seed_unchecked(seed).map_err(|_| "d is no Ed25519 key")?;
        let key = Self {
            kty: "OKP".to_owned(),
            crv: "Ed25519".to_owned(),
            x: BASE64_URL_SAFE_NO_PAD.encode(pair.public_key()),
            d: Some(BASE64_URL_SAFE_NO_PAD.encode(seed)),
            used_for: Some("sig".to_owned()),
            ..Self::default()
        };
        Ok(Self { kid: Some(key.thumbprint()), ..key })
    }

    /// Its JWK thumbprint, in base64url (RFC 7638, RFC 8037 appendix A.3). The same for both halves.
    pub fn thumbprint(&self) -> String {
        let text = format!(r#"{{"crv":"{}","kty":"{}","x":"{}"}}"#, self.crv, self.kty, self.x);
        BASE64_URL_SAFE_NO_PAD.encode(digest(&SHA256, text.as_bytes()))
    }

    /// Its public half, with its thumbprint as `kid`.
    #[must_use]
    pub fn public(&self) -> Self {
        Self { d: None, kid: Some(self.thumbprint()), used_for: Some("sig".to_owned()), ..self.clone() }
    }

    /// Whether it has its private half.
    pub fn is_private(&self) -> bool {
        self.d.is_some()
    }

    /// The time from which it signs.
    pub fn signs_from(&self) -> Option<SystemTime> {
        self.nbf.map(|nbf| UNIX_EPOCH + Duration::from_secs(nbf))
    }

    /// The time until which it is published.
    pub fn published_until(&self) -> Option<SystemTime> {
        self.exp.map(|exp| UNIX_EPOCH + Duration::from_secs(exp))
    }

    /// Sets the time until which it is published.
    pub fn publish_until(&mut self, until: SystemTime) {
        self.exp = Some(seconds(until));
    }

    /// The label in its `kid`, if it has one.
    pub fn kid(&self) -> Option<&str> {
        self.kid.as_deref()
    }

    /// Whether it is an Ed25519 key.
    pub fn is_ed25519(&self) -> bool {
        let x = BASE64_URL_SAFE_NO_PAD.decode(&self.x);
        self.kty == "OKP" && self.crv == "Ed25519" && x.is_ok_and(|x| x.len() == 32)
    }

    /// Whether this key made the signature of these bytes.
    pub fn verifies(&self, bytes: &[u8], signature: &[u8]) -> bool {
        let key = BASE64_URL_SAFE_NO_PAD.decode(&self.x).unwrap_or_default();
        UnparsedPublicKey::new(&ED25519, key).verify(bytes, signature).is_ok()
    }
}

impl JwkSet {
    /// Reads a key file: a JWK Set, one JWK, or PEM.
    ///
    /// # Errors
    /// If it is none of these, or a key is not a private Ed25519 key. The reason contains no secret.
    pub fn read(text: &str) -> Result<Self, String> {
        const FORMS: &str = "it is neither a private JWK, a set of them, nor an Ed25519 key in PEM: crawler identity new FILE makes one";
        let text = text.trim();
        let set = if text.starts_with('{') {
            serde_json::from_str::<Self>(text)
                .or_else(|_| serde_json::from_str::<Jwk>(text).map(|key| Self { keys: vec![key] }))
                .map_err(|_| FORMS.to_owned())?
        } else {
            let pem = text.strip_prefix("-----BEGIN PRIVATE KEY-----").and_then(|text| text.split_once("-----END"));
            let (body, _) = pem.ok_or(FORMS)?;
            let body: String = body.split_ascii_whitespace().collect();
            let der = BASE64_STANDARD.decode(body).map_err(|_| FORMS.to_owned())?;
            let seed = der.strip_prefix(&PKCS8_HEAD).filter(|seed| seed.len() == 32);
            Self { keys: vec![Jwk::of_seed(seed.ok_or("its PEM has no Ed25519 key of version 1")?)?] }
        };
        if set.keys.is_empty() || set.keys.len() > MOST_KEYS {
            return Err(format!("it has {} keys; 1 to {MOST_KEYS} are allowed", set.keys.len()));
        }
        for key in &set.keys {
            let thumbprint = key.thumbprint();
            key.pair().map_err(|reason| format!("key {thumbprint}: {reason}"))?;
            if thumbprint == TEST_KEY {
                return Err("it has the test key of RFC 9421, whose private half everybody knows".to_owned());
            }
        }
        Ok(set)
    }

    /// The directory: the public halves of the keys that are published at this time.
    #[must_use]
    pub fn directory(&self, now: SystemTime) -> Self {
        let now = seconds(now);
        let published = self.keys.iter().filter(|key| key.exp.is_none_or(|exp| now < exp));
        Self { keys: published.map(Jwk::public).collect() }
    }

    /// The key that signs at this time: of the published keys whose `nbf` has passed, the one with the latest `nbf`; of equal ones, the
    /// first.
    pub fn signing(&self, now: SystemTime) -> Option<&Jwk> {
        latest(&self.keys, seconds(now), |key| (key.nbf, key.exp))
    }

    /// As JSON, with a line end.
    pub fn to_json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        text
    }
}

/// Of the keys that are in force at this time, the one with the latest `nbf`; of equal ones, the first. `dates` gives a key's `nbf` and
/// `exp`.
pub(super) fn latest<K>(keys: &[K], now: u64, dates: impl Fn(&K) -> (Option<u64>, Option<u64>)) -> Option<&K> {
    let in_force = |key: &&K| {
        let (nbf, exp) = dates(key);
        nbf.is_none_or(|nbf| nbf <= now) && exp.is_none_or(|exp| now < exp)
    };
    keys.iter().filter(in_force).rev().max_by_key(|key| dates(key).0)
}

/// The thumbprint of the key in RFC 9421 appendix B.1.4: test keys must not be used (draft, section "Test and Demonstration Keys").
const TEST_KEY: &str = "poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U";

impl Jwk {
    /// The key to sign with.
    pub(super) fn pair(&self) -> Result<Ed25519KeyPair, String> {
        if self.kty != "OKP" || self.crv != "Ed25519" {
            return Err("it is no Ed25519 key (kty OKP, crv Ed25519)".to_owned());
        }
        let d = self.d.as_deref().ok_or("it has no private half (d)")?;
        let decode = |text: &str| BASE64_URL_SAFE_NO_PAD.decode(text.trim_end_matches('='));
        let (d, x) = (decode(d).map_err(|_| "d is not base64url")?, decode(&self.x).map_err(|_| "x is not base64url")?);
        Ed25519KeyPair::from_seed_and_public_key(&d, &x).map_err(|_| "x and d are not two halves of one key".to_owned())
    }
}

/// Seconds since 1970.
pub(super) fn seconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// Writes a key file that only its owner can read. It replaces an existing file whole, or not at all.
///
/// # Errors
/// If it cannot be written.
#[cfg(any(test, feature = "cli"))]
pub(crate) fn write_keys(path: &Path, set: &JwkSet) -> std::io::Result<()> {
    let mut unfinished = PathBuf::from(path).into_os_string();
    unfinished.push(".new");
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(&unfinished)?;
    let written = file.write_all(set.to_json().as_bytes()).and_then(|()| file.sync_all());
    let moved = written.and_then(|()| std::fs::rename(&unfinished, path));
    if moved.is_err() {
        let _ = std::fs::remove_file(&unfinished);
    }
    moved
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 9421 appendix B.1.4.
    const TEST_JWK: &str = r#"{"kty":"OKP","crv":"Ed25519","kid":"test-key-ed25519",
        "d":"n4Ni-HpISpVObnQMW0wOhCKROaIKqKtW_2ZYb2p9KcU","x":"JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs"}"#;

    #[test]
    fn a_key_file_has_one_of_three_forms() {
        let key = Jwk::generate(None).unwrap();
        let one = serde_json::to_string(&key).unwrap();
        let set = JwkSet { keys: vec![key.clone()] }.to_json();
        let d = BASE64_URL_SAFE_NO_PAD.decode(key.d.as_ref().unwrap()).unwrap();
        let der = [&[48, 46, 2, 1, 0, 48, 5, 6, 3, 43, 101, 112, 4, 34, 4, 32][..], &d].concat();
        let pem = format!("-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n", BASE64_STANDARD.encode(der));
        for text in [one.as_str(), &set, &pem] {
            assert_eq!(JwkSet::read(text).unwrap().keys[0].thumbprint(), key.thumbprint(), "{text}");
        }
        let other = Jwk::generate(None).unwrap();
        let mixed = serde_json::to_string(&Jwk { x: other.x, ..key.clone() }).unwrap();
        let public = serde_json::to_string(&key.public()).unwrap();
        for (text, reason) in [
            ("", "neither a private JWK"),
            ("{\"keys\":[]}", "it has 0 keys"),
            (mixed.as_str(), "x and d are not two halves of one key"),
            (&public, "it has no private half (d)"),
            ("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----", "no Ed25519 key of version 1"),
            (TEST_JWK, "the test key of RFC 9421"),
        ] {
            let error = JwkSet::read(text).unwrap_err();
            assert!(error.contains(reason) && !error.contains(key.d.as_ref().unwrap()), "{error}");
        }
        assert!(!format!("{key:?}").contains(key.d.as_ref().unwrap()));
    }

    #[test]
    fn the_latest_key_whose_time_has_come_signs() {
        let at = |seconds| UNIX_EPOCH + Duration::from_secs(seconds);
        let mut old = Jwk::generate(None).unwrap();
        old.publish_until(at(2000));
        let new = Jwk::generate(Some(at(1000))).unwrap();
        let set = JwkSet { keys: vec![old.clone(), new.clone()] };
        let signing = |seconds| set.signing(at(seconds)).map(Jwk::thumbprint);
        assert_eq!(signing(999), Some(old.thumbprint()));
        assert_eq!(signing(1000), Some(new.thumbprint()));
        let published = |seconds| set.directory(at(seconds)).keys.len();
        assert_eq!([published(0), published(1999), published(2000)], [2, 2, 1]);
        assert!(set.directory(at(0)).keys.iter().all(|key| !key.is_private()));
    }
}
