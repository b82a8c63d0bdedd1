//! One request over HTTP, and its response.

mod access;
mod causes;
mod certificates;
mod client;
mod client_choice;
mod client_request;
mod clients;
mod connection;
mod connection_times;
mod cookies;
mod cryptography;
mod deadline;
mod decoder;
mod dialer;
mod exchange;
mod fetch;
mod fetch_error;
mod fetcher_error;
mod frame_guard;
mod framing;
mod guard;
mod http1;
mod http2;
mod http2_stream;
mod idle_connections;
mod link_header;
mod names;
mod network;
mod no_head;
mod proxy;
mod proxy_place;
mod quiet;
mod request;
mod request_permit;
mod resolve;
mod response;
mod shared_connections;
mod shortage;
mod tls;
mod transport;
mod unverified;
mod wanted;
mod wildcard_name;

pub use access::{AccessError, AccessRules, GroupAccess, HostAccess, Secret, SignIn};
pub use client::{Client, ClientBody, ClientFuture, ClientResponse};
pub use client_choice::ClientChoice;
pub use client_request::ClientRequest;
#[cfg(feature = "reqwest")]
pub use clients::Reqwest;
pub use connection_times::ConnectionTimes;
pub use exchange::{Exchange, Truncated};
pub use fetch::Fetcher;
pub use fetch_error::FetchError;
pub use fetcher_error::FetcherError;
#[cfg(feature = "cli")]
pub(crate) use guard::DENIED;
pub use network::{Network, NetworkError};
pub use proxy::{ProxyAddress, ProxyChoice};
pub(crate) use request_permit::RequestPermit;
pub(super) use request_permit::{Ask, TakesBody};
pub use response::Response;
#[cfg(feature = "cluster")]
pub(crate) use tls::for_servers as tls_for_servers;
pub(super) use wanted::{Unwanted, is_unwanted};
