//! How items become fingerprints: a text as a URL, by its key, or as it is; bytes as they are.

use crawler_frontier::address::{AddressError, Fingerprint, FingerprintKey};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyString, PyTuple};

use crate::address::{Canonicalizer, Url, no_item, raw};
use crate::errors;

/// How a set reads the items that it is given.
#[derive(Clone, Debug)]
pub(crate) struct Reading {
    pub(crate) key: FingerprintKey,
    /// `None` takes texts as they are.
    pub(crate) canonicalizer: Option<Canonicalizer>,
}

/// The fingerprints of a list.
#[derive(Debug, Default)]
pub(crate) struct Items {
    /// Of all items that have one, in the list's order.
    pub(crate) fingerprints: Vec<Fingerprint>,
    /// The places of those that have none, ascending.
    pub(crate) refused: Vec<usize>,
}

/// How many texts are copied before the GIL is let go: with 60 bytes each they stay in the processor's cache.
const RUN: usize = 4096;

/// A text that is copied, by where it ends, or an item that needs no rules.
enum Copied {
    Text(usize),
    Hashed(Fingerprint),
}

impl Reading {
    /// The fingerprint of one item.
    ///
    /// # Errors
    /// `AddressError` if a text is no URL, `UnicodeEncodeError` if it is no text, `TypeError` if it is neither text nor bytes.
    #[inline]
    pub(crate) fn fingerprint(&self, item: &Bound<'_, PyAny>) -> PyResult<Fingerprint> {
        let Some(canonicalizer) = &self.canonicalizer else { return raw(self.key, item) };
        if let Ok(text) = item.cast::<PyString>() {
            let url = canonicalizer.rules.canonicalize(text.to_str()?).map_err(|error| errors::address(&error))?;
            return Ok(url.fingerprint(self.key));
        }
        if let Ok(url) = item.cast::<Url>() {
            return Ok(url.get().0.fingerprint(self.key));
        }
        raw(self.key, item)
    }

    /// The fingerprints of a list. Nothing has been inserted yet, so an item that has none changes nothing.
    ///
    /// # Errors
    /// As [`fingerprint`](Self::fingerprint), for the first such item; with `skips`, texts that are no URLs are only noted.
    pub(crate) fn fingerprints(&self, items: &Bound<'_, PyList>, skips: bool) -> PyResult<Items> {
        let Some(canonicalizer) = &self.canonicalizer else { return self.raw_fingerprints(items) };
        let py = items.py();
        // Other threads may change the list while this one is without the GIL.
        let items = items.to_tuple();
        let mut read = Items { fingerprints: Vec::with_capacity(items.len()), refused: Vec::new() };
        let (mut texts, mut copied) = (String::new(), Vec::with_capacity(RUN.min(items.len())));
        for start in (0..items.len()).step_by(RUN) {
            texts.clear();
            copied.clear();
            for place in start..items.len().min(start + RUN) {
                copied.push(self.copy(&items, place, &mut texts)?);
            }
            let hashed = py.detach(|| {
                let mut from = 0;
                for (place, copied) in (start..).zip(&copied) {
                    let end = match *copied {
                        Copied::Text(end) => end,
                        Copied::Hashed(fingerprint) => {
                            read.fingerprints.push(fingerprint);
                            continue;
                        }
                    };
                    match canonicalizer.rules.canonicalize(&texts[from..end]) {
                        Ok(url) => read.fingerprints.push(url.fingerprint(self.key)),
                        Err(_) if skips => read.refused.push(place),
                        Err(error) => return Err::<(), (usize, AddressError)>((place, error)),
                    }
                    from = end;
                }
                Ok(())
            });
            hashed.map_err(|(place, error)| errors::address_at(place, &error))?;
        }
        Ok(read)
    }

    /// Copies one item, so that its text can be read without the GIL.
    fn copy(&self, items: &Bound<'_, PyTuple>, place: usize, texts: &mut String) -> PyResult<Copied> {
        let item = items.get_borrowed_item(place)?;
        if let Ok(text) = item.cast::<PyString>() {
            texts.push_str(text.to_str().map_err(|error| at(place, error, items.py()))?);
            return Ok(Copied::Text(texts.len()));
        }
        self.fingerprint(&item).map(Copied::Hashed).map_err(|error| at(place, error, items.py()))
    }

    /// The fingerprints of texts and bytes as they are.
    fn raw_fingerprints(&self, items: &Bound<'_, PyList>) -> PyResult<Items> {
        let mut fingerprints = Vec::with_capacity(items.len());
        for item in items {
            let fingerprint = match item.cast::<PyString>() {
                Ok(text) => text.to_str().map(|text| self.key.fingerprint(text)),
                Err(_) => match item.cast::<PyBytes>() {
                    Ok(bytes) => Ok(self.key.fingerprint_bytes(bytes.as_bytes())),
                    Err(_) => Err(no_item(&item)),
                },
            };
            fingerprints.push(fingerprint.map_err(|error| at(fingerprints.len(), error, items.py()))?);
        }
        Ok(Items { fingerprints, refused: Vec::new() })
    }
}

/// The same error with a note of the item's place in the list, where Python has notes (3.11).
#[cold]
fn at(place: usize, error: PyErr, py: Python<'_>) -> PyErr {
    let _ = error.value(py).call_method1("add_note", (format!("item {place} of the list"),));
    error
}

/// How items are read, by the options that say so.
pub(crate) fn reading(key: FingerprintKey, raw: bool, rules: Option<&Bound<'_, Canonicalizer>>) -> PyResult<Reading> {
    match (raw, rules) {
        (true, Some(_)) => {
            Err(errors::bad_option("canonicalizer", "given", "not with raw=True, which takes texts as they are"))
        }
        (true, None) => Ok(Reading { key, canonicalizer: None }),
        (false, rules) => {
            let canonicalizer = rules.map(|rules| rules.get().clone()).unwrap_or_default();
            Ok(Reading { key, canonicalizer: Some(canonicalizer) })
        }
    }
}

/// The items as a list. A text or bytes alone is refused: its letters are no URLs.
pub(crate) fn listed<'py>(items: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyList>> {
    if let Ok(list) = items.cast::<PyList>() {
        return Ok(list.clone());
    }
    let list = PyList::empty(items.py());
    for item in listable(items)?.try_iter()? {
        list.append(item?)?;
    }
    Ok(list)
}

pub(crate) fn listable<'a, 'py>(items: &'a Bound<'py, PyAny>) -> PyResult<&'a Bound<'py, PyAny>> {
    let is_one = items.is_instance_of::<PyString>() || items.is_instance_of::<PyBytes>();
    if is_one { Err(PyTypeError::new_err("expected a list of items, not one: use add()")) } else { Ok(items) }
}

/// Puts a 2 where an item was refused.
pub(crate) fn with_refused(verdicts: Vec<u8>, read: &Items) -> Vec<u8> {
    if read.refused.is_empty() {
        return verdicts;
    }
    let mut all = Vec::with_capacity(verdicts.len() + read.refused.len());
    let (mut verdicts, mut refused) = (verdicts.into_iter(), read.refused.iter().peekable());
    while let Some(verdict) = refused.next_if_eq(&&all.len()).map(|_| 2).or_else(|| verdicts.next()) {
        all.push(verdict);
    }
    all
}
