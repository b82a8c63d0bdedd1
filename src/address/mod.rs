//! What a URL is: its wire form, its key, its host, its fingerprint; and lists of seeds.

mod canonical;
mod fingerprint;
mod host;
mod rules;
mod seed;

pub use canonical::{AddressError, BaseUrl, CanonicalUrl, Canonicalizer};
pub use fingerprint::{Fingerprint, FingerprintKey};
pub use host::HostKey;
pub use rules::KeyRules;
pub use seed::{Seed, SeedError, SeedList};
