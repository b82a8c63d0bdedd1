//! Proxies: HTTP, HTTP over TLS, and SOCKS 5.
//!
//! [`Proxies`] says which one is asked in the place of a host; a [`Proxy`] connects.
//!
//! | proxy | URL | what it is sent |
//! |---|---|---|
//! | HTTP, HTTPS | http | the request, with the whole URL in its first line, on a connection of its own |
//! | HTTP, HTTPS | https | `CONNECT`, and TLS with the host through that |
//! | SOCKS | both | a request for a connection to the host, by name (`socks5h`) or by address (`socks5`) |
//!
//! A connection on which a request was forwarded is closed behind it. Some proxies, tinyproxy among them, pass on what comes behind the
//! first request as it is: where a host did not close its connection, it would get what is meant for the next host, and our sign-in
//! at the proxy.
//!
//! # Names
//!
//! All but `socks5` resolve hosts' names themselves. Nobody here knows the addresses then: they are not told to the politeness by address,
//! stand in no archive, and are not judged as private or public. Names that mean the proxy's own machine are refused, and
//! a crawl that denies networks does not begin. Hosts that are addresses are judged as ever.
//!
//! # Failures
//!
//! A proxy that cannot be reached, does not answer, or wants another sign-in has failed by itself: [`ProxyFault::Own`]. That speaks against
//! no host and takes none of a page's tries. The crawl gives the lease back and goes on slowly, as it does where this machine is
//! short of something. Where the proxy has failed for as long as [`FetchOptions::proxy_patience`](crate::crawl::FetchOptions::proxy_patience)
//! says, or does not take our sign-in, the crawl ends, and can be resumed.
//!
//! What a proxy says of a host is the host's failure: that it cannot be reached, or that it is not to be asked.
//! An answer that does not come may be either's fault, and [`ProxyStanding`](standing::ProxyStanding) tells which.
//!
//! # Bounds
//!
//! Connecting to a proxy, its answer and TLS with the host have the time that connecting has. An answer has at most 16 KiB, and behind it
//! must be nothing that a host could have said before it was spoken to.

mod address;
mod bypass;
mod environment;
mod error;
mod places;
mod proxies;
#[expect(clippy::module_inception, reason = "the wing has its name from what stands in it")]
mod proxy;
mod sign_in;
mod socks5;
mod standing;
mod tunnel;

pub use address::{ProxyAddress, ProxyChoice};
pub(super) use error::{ProxyError, ProxyFault};
pub(super) use proxies::Proxies;
pub(super) use proxy::Proxy;
