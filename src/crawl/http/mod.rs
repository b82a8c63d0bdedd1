//! One request over HTTP, and its response.

mod ask;
mod causes;
mod client;
mod deadline;
mod decoder;
mod exchange;
mod fetch;
mod fetch_error;
mod guard;
mod head;
mod http1;
mod idle_connections;
mod link_header;
mod quiet;
mod request;
mod resolve;
mod response;
mod shortage;
mod tls;
mod verified_chains;

pub(super) use ask::{Ask, TakesBody};
pub use exchange::{Exchange, Truncated};
pub use fetch::{Fetcher, FetcherError};
pub use fetch_error::FetchError;
pub use guard::is_global;
pub use response::Response;
