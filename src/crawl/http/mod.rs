//! One request over HTTP, and its response.

mod ask;
mod causes;
mod client;
mod connection;
mod deadline;
mod decoder;
mod exchange;
mod fetch;
mod fetch_error;
mod guard;
mod head;
mod http1;
mod http2;
mod http2_stream;
mod idle_connections;
mod link_header;
mod network;
mod no_head;
mod quiet;
mod read_ahead;
mod request;
mod resolve;
mod response;
mod shared_connections;
mod shortage;
mod tls;
mod transport;
mod verified_chains;

pub(super) use ask::{Ask, TakesBody};
pub use exchange::{Exchange, Truncated};
pub use fetch::{Fetcher, FetcherError};
pub use fetch_error::FetchError;
pub use guard::is_global;
pub use network::{Network, NetworkError};
pub use response::Response;
