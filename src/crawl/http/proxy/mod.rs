//! Proxies: HTTP, HTTP over TLS, and SOCKS 5.
//!
//! [`Proxies`] chooses the proxy for a host; a [`Proxy`] connects.
//!
//! | proxy | URL | what it is sent |
//! |---|---|---|
//! | HTTP, HTTPS | http | the request, with the whole URL in its first line, on a connection of its own |
//! | HTTP, HTTPS | https | `CONNECT`, and TLS with the host through that |
//! | SOCKS | both | a request for a connection to the host, by name (`socks5h`) or by address (`socks5`) |
//!
//! A connection is closed after one forwarded request. Some proxies, tinyproxy among them, pass on all that follows the first request as it
//! is: a host that did not close its connection would get the request meant for the next host, with our sign-in at the proxy.
//!
//! # Names
//!
//! All but `socks5` resolve host names themselves. The addresses are then unknown here: politeness by address does not count them, no
//! archive has them, and they are not checked for being private. Names that mean the proxy's own machine are refused, and a crawl that
//! denies networks does not begin. Hosts that are addresses are checked as always.
//!
//! # Failures
//!
//! A proxy that cannot be reached, does not answer, or wants another sign-in has itself failed: [`ProxyFault::Own`]. That counts against no
//! host and uses up none of a page's tries. The crawl gives the lease back and goes on slowly, as it does when this machine is short of a
//! resource. When the proxy has failed for [`FetchOptions::proxy_patience`](crate::crawl::FetchOptions::proxy_patience), or does not take
//! our sign-in, the crawl ends, and can be resumed.
//!
//! If the proxy answers that a host cannot be reached, or must not be, that is the host's failure. A missing answer may be either's fault;
//! [`ProxyStanding`](fault::ProxyStanding) decides which.
//!
//! # Bounds
//!
//! Connecting to a proxy, its answer and TLS with the host together have the time limit of connecting. An answer has at most 16 KiB, and
//! nothing may follow it: a host does not speak before it is spoken to.

mod address;
mod fault;
mod proxies;
#[expect(clippy::module_inception, reason = "the wing has its name from what stands in it")]
mod proxy;
mod tunnel;

pub use address::{ProxyAddress, ProxyChoice};
pub(super) use fault::{ProxyError, ProxyFault};
pub(super) use proxies::Proxies;
pub(super) use proxy::Proxy;
