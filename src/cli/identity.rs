//! `crawler identity`: the keys that sign requests, and the directory in which sites find them.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use clap::Subcommand;

use super::command_error::{CommandError, Exit};
use super::output::{note, print};
use super::settings::AllSettings;
use super::value::Value;
use crate::crawl::{
    AgentIdentity, DIRECTORY_PATH, DIRECTORY_TYPE, FetchOptions, Fetcher, IdentityKey, IdentityOptions, Jwk, JwkSet,
    Secret, write_keys,
};
use crate::frontier::Timestamp;

/// A request about an identity.
#[derive(Clone, Debug, PartialEq, Eq, Subcommand)]
pub(super) enum IdentityRequest {
    /// Print the directory of the keys: put it on your site, at /.well-known/http-message-signatures-directory.
    Directory {
        /// The key file, or env:VARIABLE.
        #[arg(value_name = "FILE")]
        key: String,
    },
    /// Make a key, in a file that only you can read. If there are older keys, it signs once sites have had time to find it.
    New {
        /// The key file; an existing one gets one more key.
        #[arg(value_name = "FILE")]
        file: PathBuf,
        /// How long to publish a further key before it signs, and the older keys after that.
        #[arg(long, value_name = "TIME", default_value = "1d")]
        after: String,
    },
    /// Print each key's thumbprint, and what it does now.
    Show {
        /// The key file, or env:VARIABLE.
        #[arg(value_name = "FILE")]
        key: String,
    },
    /// Fetch the directory from your site, and compare it with the keys.
    Verify {
        /// The key file, or env:VARIABLE.
        #[arg(value_name = "FILE")]
        key: String,
        /// Your site, or the URL of the directory there; default: identity.agent.
        #[arg(long, value_name = "URL")]
        agent: Option<String>,
    },
}

/// Maximum bytes of a directory that are read; 32 keys take 8 KiB.
const MOST_BYTES: usize = 64 << 10;

/// Does what the user asks about an identity.
pub(super) fn identity(settings: &AllSettings, request: &IdentityRequest) -> Result<(), CommandError> {
    match request {
        IdentityRequest::Directory { key } => {
            let directory = keys(key)?.directory(SystemTime::now());
            print(|out| out.write_all(directory.to_json().as_bytes()))
        }
        IdentityRequest::New { file, after } => new(file, after),
        IdentityRequest::Show { key } => show(&keys(key)?),
        IdentityRequest::Verify { key, agent } => verify(&settings.crawl.fetch, key, agent.as_deref()),
    }
}

/// The keys of a file or a variable.
fn keys(of: &str) -> Result<JwkSet, CommandError> {
    let key: IdentityKey = of.parse().map_err(|()| usage(format!("{of:?} is neither a file nor env:VARIABLE")))?;
    let text = key.0.read().map_err(|error| match key.0 {
        Secret::File(_) => usage(error).and(format!("crawler identity new {key} makes a key")),
        Secret::Environment(_) => usage(error),
    })?;
    JwkSet::read(&text).map_err(|reason| usage(format!("{key}: {reason}")))
}

fn usage(message: impl Into<String>) -> CommandError {
    CommandError::new(Exit::Usage, message)
}

fn new(file: &Path, after: &str) -> Result<(), CommandError> {
    let after = Duration::parse(after).ok_or_else(|| usage(format!("--after: expected {}", Duration::EXPECTED)))?;
    let now = SystemTime::now();
    let mut set = if fs::exists(file).map_err(CommandError::cannot(Exit::Failed, "read", file))? {
        keys(&file.display().to_string())?
    } else {
        JwkSet::default()
    };
    set.keys.retain(|key| key.published_until().is_none_or(|until| until > now));
    let from = (!set.keys.is_empty()).then(|| now + after);
    if let Some(from) = from {
        // A site may hold the old directory for as long again.
        let until = from + after;
        let is_open = |key: &&mut Jwk| key.published_until().is_none();
        set.keys.iter_mut().filter(is_open).for_each(|key| key.publish_until(until));
    }
    let key = Jwk::generate(from).map_err(|reason| CommandError::new(Exit::Failed, reason))?;
    let thumbprint = key.thumbprint();
    set.keys.insert(0, key);
    write_keys(file, &set).map_err(CommandError::cannot(Exit::NotKept, "write", file))?;
    print(|out| writeln!(out, "{thumbprint}"))?;
    let begins = from.map_or_else(|| "now".to_owned(), |from| format!("from {}", shown(from)));
    note(&format!("{} has a new key, which signs {begins}; only you can read the file", file.display()));
    note(&format!(
        "put what crawler identity directory {} prints on your site, at {DIRECTORY_PATH}, as {DIRECTORY_TYPE}",
        file.display()
    ));
    Ok(())
}

fn show(set: &JwkSet) -> Result<(), CommandError> {
    let now = SystemTime::now();
    let signing = set.signing(now).map(Jwk::thumbprint);
    print(|out| {
        for key in &set.keys {
            let does = match (key.signs_from(), key.published_until()) {
                (_, Some(until)) if until <= now => format!("expired at {}", shown(until)),
                _ if signing == Some(key.thumbprint()) => "signs".to_owned(),
                (Some(from), _) if from > now => format!("published, signs from {}", shown(from)),
                _ => "published".to_owned(),
            };
            let until = key.published_until().filter(|until| *until > now);
            let until = until.map_or_else(String::new, |until| format!(", published until {}", shown(until)));
            writeln!(out, "{}\t{does}{until}", key.thumbprint())?;
        }
        Ok(())
    })
}

/// A time as text, to the second.
fn shown(time: SystemTime) -> String {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_micros(since.as_secs() * 1_000_000).to_string()
}

fn verify(fetch: &FetchOptions, key: &str, agent: Option<&str>) -> Result<(), CommandError> {
    let now = SystemTime::now();
    let own = keys(key)?.directory(now);
    let mut options = fetch.clone();
    let agent = agent.map(str::to_owned).or_else(|| options.identity.agent.clone());
    let identity = IdentityOptions { key: key.parse().ok(), agent, ..IdentityOptions::default() };
    let identity = AgentIdentity::open(&identity).map_err(CommandError::of(Exit::Usage, ""))?;
    let url = identity.as_ref().map(AgentIdentity::agent).unwrap_or_default().to_owned();
    // A site must give its directory to everybody.
    options.identity = IdentityOptions::default();
    options.max_body_bytes = options.max_body_bytes.min(MOST_BYTES);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(CommandError::of(Exit::Failed, "cannot start"))?;
    let fetcher = Fetcher::new(&options).map_err(CommandError::of(Exit::Usage, "fetch"))?;
    let response = runtime.block_on(fetcher.fetch(&url));
    let response = response.map_err(CommandError::of(Exit::Failed, format!("cannot fetch {url}")))?;
    let content_type = response.content_type.as_deref().unwrap_or_default();
    let faults = match (response.status, &response.incomplete) {
        (200, Some(error)) => vec![format!("its answer breaks off: {}", error.message)],
        (200, None) if response.truncated => vec![format!("it is longer than {} bytes", options.max_body_bytes)],
        (200, None) => faults(&own, &url, content_type, &response.body, now),
        (status, _) => vec![format!("it answers {status}, and sites take only a 200, without redirects")],
    };
    if faults.is_empty() {
        return print(|out| writeln!(out, "{url} has each of the {} published keys", own.keys.len()));
    }
    let failed = CommandError { exit: Exit::Failed, messages: Vec::new() };
    Err(faults.into_iter().map(|fault| format!("{url}: {fault}")).fold(failed, CommandError::and))
}

/// The faults of a directory that a site answered with, compared with the keys that it should have.
fn faults(own: &JwkSet, url: &str, content_type: &str, body: &[u8], now: SystemTime) -> Vec<String> {
    const REMEDY: &str = "put there what crawler identity directory prints";
    let mut faults = Vec::new();
    let essence = content_type.split(';').next().unwrap_or_default().trim();
    if url.ends_with(DIRECTORY_PATH) && !essence.eq_ignore_ascii_case(DIRECTORY_TYPE) {
        faults.push(format!("its Content-Type is {content_type:?}; at this place it must be {DIRECTORY_TYPE}"));
    }
    let Ok(there) = serde_json::from_slice::<JwkSet>(body) else {
        faults.push(format!("it is no JSON with a list of keys: {REMEDY}"));
        return faults;
    };
    for key in &there.keys {
        let thumbprint = key.thumbprint();
        if key.is_private() {
            faults.push(format!("it has the PRIVATE half of {thumbprint}: take it off, and make a new key"));
        }
        if key.kid().is_some_and(|kid| kid != thumbprint) && key.is_ed25519() && url.ends_with(DIRECTORY_PATH) {
            faults.push(format!(
                "the kid of {thumbprint} is {:?}; it must be the thumbprint",
                key.kid().unwrap_or_default()
            ));
        }
    }
    for key in &own.keys {
        let thumbprint = key.thumbprint();
        let Some(published) = there.keys.iter().find(|other| other.thumbprint() == thumbprint) else {
            faults.push(format!("it lacks the key {thumbprint}: {REMEDY}"));
            continue;
        };
        let (from, until) = (published.signs_from(), published.published_until());
        let fault = match (from, until) {
            (_, Some(until)) if until <= now => format!("has expired there, at {}", shown(until)),
            (Some(from), _) if from > now && key.signs_from().is_none_or(|from| from <= now) => {
                format!("signs already, and is valid there only from {}", shown(from))
            }
            dates if dates != (key.signs_from(), key.published_until()) => "has other dates there".to_owned(),
            _ => continue,
        };
        faults.push(format!("the key {thumbprint} {fault}: {REMEDY}"));
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_compared_with_the_keys() {
        let keys = JwkSet { keys: (0..2).map(|_| Jwk::generate(None).unwrap()).collect() };
        let own = keys.directory(SystemTime::now());
        let url = format!("https://bot.example{DIRECTORY_PATH}");
        let of = |set: &JwkSet| set.to_json().into_bytes();
        let one = JwkSet { keys: own.keys[..1].to_vec() };
        let wrong = String::from_utf8(of(&one)).unwrap().replace(own.keys[0].kid().unwrap(), "mine").into_bytes();
        let now = SystemTime::now();
        for (kind, body, expected) in [
            (DIRECTORY_TYPE, of(&own), vec![]),
            ("Application/HTTP-Message-Signatures-Directory+json; charset=utf-8", of(&own), vec![]),
            ("application/json", of(&own), vec!["its Content-Type"]),
            (DIRECTORY_TYPE, b"<html>".to_vec(), vec!["it is no JSON"]),
            (DIRECTORY_TYPE, of(&one), vec!["it lacks the key"]),
            (DIRECTORY_TYPE, wrong, vec!["the kid of", "it lacks the key"]),
            (DIRECTORY_TYPE, of(&keys), vec!["it has the PRIVATE half", "it has the PRIVATE half"]),
        ] {
            let faults = faults(&own, &url, kind, &body, now);
            let is_as =
                faults.len() == expected.len() && faults.iter().zip(&expected).all(|(is, said)| is.starts_with(said));
            assert!(is_as, "{faults:?} {expected:?}");
        }
    }

    #[test]
    fn a_second_key_waits_and_the_first_one_stays_published() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("keys.json");
        new(&file, "1d").unwrap();
        let first = keys(&file.display().to_string()).unwrap();
        assert!(first.keys.len() == 1 && first.keys[0].signs_from().is_none());
        new(&file, "1d").unwrap();
        let both = keys(&file.display().to_string()).unwrap();
        let now = SystemTime::now();
        let hours = |hours: u64| now + Duration::from_secs(3600 * hours);
        let signs = |at| both.signing(at).map(Jwk::thumbprint);
        assert_eq!(signs(now), Some(first.keys[0].thumbprint()));
        assert_eq!(signs(hours(25)), Some(both.keys[0].thumbprint()));
        assert_eq!([0, 47, 49].map(|at| both.directory(hours(at)).keys.len()), [2, 2, 1]);
        new(&file, "soon").unwrap_err();
    }
}
