//! One request over HTTP, and its response.
//!
//! | part | modules |
//! |---|---|
//! | [`Fetcher`] fetches a URL within all limits: the guard, the head, the body | `fetch`, `request`, `response`, `fetch_error` |
//! | the seam [`Client`], which sends a request; the built-in clients, and the choice of one | `client`, `clients`, `client_choice` |
//! | connections of the direct client: HTTP/1.1, HTTP/2, repairs of framing, idle and shared connections | `connections`, `http1`, `http2`, `framing` |
//! | from a name to a transport: DNS, TLS, certificates, proxies | `dns`, `tls`, `certificates`, `proxy` |
//! | which addresses may be connected to | `guard`, `network` |
//! | content codings of bodies | `decoder`, `codec` |
//! | headers, sign-ins and client certificates for particular hosts | `access_rules`, `access` |
//! | signatures of requests, and the keys for them | `identity`, `identity_keys` |
//! | cookies | `cookie`, `cookie_jar` |
//! | challenges of front ends | `challenge` |
//! | shortages of this machine | `shortage` |

mod access;
mod access_rules;
mod certificates;
mod challenge;
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
mod identity;
mod identity_keys;
mod network;
mod proxy;
mod request;
mod response;
mod shortage;
mod tls;

pub use access::AccessError;
pub use access_rules::{AccessRules, GroupAccess, HostAccess, Secret, SignIn};
#[cfg(feature = "cli")]
pub(crate) use certificates::NO_ROOTS;
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
pub use identity::{AgentIdentity, SignatureHeaders, SigningError};
#[cfg(feature = "cli")]
pub(crate) use identity_keys::{DIRECTORY_PATH, DIRECTORY_TYPE, write_keys};
pub use identity_keys::{IdentityKey, IdentityOptions, Jwk, JwkSet};
pub use network::{Network, NetworkError};
pub use proxy::{ProxyAddress, ProxyChoice};
pub(crate) use request::RequestPermit;
pub(super) use request::{Ask, TakesBody};
pub use request::{Exchange, Truncated};
pub use response::Response;
pub(super) use response::{Unwanted, is_unwanted};
#[cfg(feature = "cluster")]
pub(crate) use tls::for_servers as tls_for_servers;
