//! A document that the user names: a URL, a file, or standard input.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use super::command_error::CommandError;
use super::exit::Exit;
use crate::address::{BaseUrl, Canonicalizer};
use crate::crawl::{FetchOptions, Fetcher};
use crate::frontier::Failure;

/// Advice for an address that may not be requested.
const PRIVATE: &str = "addresses that are not public are asked only with --allow-network or --allow-private-addresses";

/// Redirects that are followed.
const REDIRECTS: usize = 10;

/// A document as it came.
pub(super) struct Document {
    pub(super) name: String,
    pub(super) body: Vec<u8>,
    pub(super) content_type: Option<String>,
    pub(super) base: Option<BaseUrl>,
    /// Why it may be incomplete.
    pub(super) cut: Option<String>,
}

impl Document {
    /// Fetches or reads it, up to `max_bytes`, the value of the setting `key`. Of a file, one more byte is read.
    pub(super) fn get(
        options: &FetchOptions,
        from: &str,
        canonicalizer: &Canonicalizer,
        (key, max_bytes): (&str, usize),
    ) -> Result<Self, CommandError> {
        let is_url = ["http://", "https://"]
            .iter()
            .any(|scheme| from.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme)));
        if !is_url {
            return read(from, max_bytes);
        }
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(CommandError::of(Exit::Failed, "cannot start"))?;
        let options = FetchOptions { max_body_bytes: max_bytes, ..options.clone() };
        runtime.block_on(fetch(&options, from, canonicalizer, key))
    }
}

fn read(from: &str, max_bytes: usize) -> Result<Document, CommandError> {
    let (mut body, most) = (Vec::new(), max_bytes as u64 + 1);
    let read = if from == "-" {
        io::stdin().lock().take(most).read_to_end(&mut body)
    } else {
        File::open(from).and_then(|file| file.take(most).read_to_end(&mut body))
    };
    read.map_err(CommandError::cannot(Exit::Failed, "read", Path::new(from)))?;
    Ok(Document { name: from.to_owned(), body, content_type: None, base: None, cut: None })
}

/// Fetches it, following redirects. The user has asked for this URL, so its host's robots.txt is not checked.
async fn fetch(
    options: &FetchOptions,
    from: &str,
    canonicalizer: &Canonicalizer,
    key: &str,
) -> Result<Document, CommandError> {
    let failed = |what: &str| CommandError::new(Exit::Failed, what);
    let fetcher = Fetcher::new(options).map_err(CommandError::of(Exit::Usage, "fetch"))?;
    let (mut url, mut base) = canonicalizer.page(from).map_err(CommandError::of(Exit::Usage, from))?;
    for _ in 0..=REDIRECTS {
        let response = fetcher.fetch(url.wire()).await;
        let response = response.map_err(|error| {
            let is_private = error.failure == Failure::Address;
            let failed = CommandError::caused(Exit::Failed, &format!("cannot fetch {}", url.wire()), &error);
            if is_private { failed.and(PRIVATE.to_owned()) } else { failed }
        })?;
        let name = url.wire().to_owned();
        if let (300..400, Some(location)) = (response.status, &response.location) {
            let to = canonicalizer.join(&base, location).map_err(CommandError::of(Exit::Failed, name))?;
            (url, base) = canonicalizer.page(to.wire()).map_err(CommandError::of(Exit::Failed, from))?;
            continue;
        }
        if !(200..300).contains(&response.status) || response.raw {
            return Err(failed(&format!("{name} answers {}", response.status)));
        }
        let broken = response.incomplete.as_ref().map(ToString::to_string);
        let cut = broken.or_else(|| response.truncated.then(|| format!("longer than {key}")));
        let (body, content_type) = (response.body, response.content_type);
        return Ok(Document { name, body, content_type, base: Some(base), cut });
    }
    Err(failed(&format!("{from} redirects too often")))
}
