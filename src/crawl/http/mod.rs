//! One request over HTTP, and its response.

mod access;
mod access_rules;
mod certificates;
mod client;
mod client_choice;
mod clients;
mod codec;
mod connections;
mod cookie;
mod cookie_jar;
mod decoder;
mod dns;
mod fetch;
mod fetch_error;
mod framing;
mod guard;
mod http1;
mod http2;
mod network;
mod proxy;
mod request;
mod response;
mod shortage;
mod tls;

pub use access::AccessError;
pub use access_rules::{AccessRules, GroupAccess, HostAccess, Secret, SignIn};
pub use client::{Client, ClientBody, ClientFuture, ClientRequest, ClientResponse};
pub use client_choice::ClientChoice;
pub use clients::FetcherError;
#[cfg(feature = "reqwest")]
pub use clients::Reqwest;
pub use dns::ConnectionTimes;
pub use fetch::Fetcher;
pub use fetch_error::FetchError;
#[cfg(feature = "cli")]
pub(crate) use guard::DENIED;
pub use network::{Network, NetworkError};
pub use proxy::{ProxyAddress, ProxyChoice};
pub(crate) use request::RequestPermit;
pub(super) use request::{Ask, TakesBody};
pub use request::{Exchange, Truncated};
pub use response::Response;
pub(super) use response::{Unwanted, is_unwanted};
#[cfg(feature = "cluster")]
pub(crate) use tls::for_servers as tls_for_servers;
