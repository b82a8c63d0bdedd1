//! What particular hosts are sent in addition to what all hosts are sent: headers, a sign-in, a certificate.
//!
//! [`AccessRules`] are the rules as a user writes them, by host name. [`Accesses`] compiles them once, when the client is made, into one
//! [`HostHeaders`] for each name, with all headers of a request. So a request costs one lookup of its host's name, or none if there are no
//! rules.
//!
//! # Where a secret may go
//!
//! A secret comes from a file or an environment variable, and is read once. From then on it is in one place, the [`HostHeaders`] of its
//! name, as a header marked as sensitive: `Debug` does not show it, and HTTP/2 keeps it out of its tables. The request's own origin decides
//! whether it is added. Redirects are links here, so a redirect to another origin is another request, with only what that origin may have.
//! The same holds for another port, and for http where https has the secret.
//!
//! A client certificate is shown only to the hosts of its rule, on any port; its key never leaves the process's memory. A host's TLS
//! settings are kept with its headers, as a [`Connector`](super::tls::Connector).
//!
//! Outputs see a request as an [`Exchange`](super::Exchange), which has the header's name and `(not kept)` for its value. If a request had
//! a secret, or its connection a certificate, so has the `Set-Cookie` of its response: a session is as good as a password.

mod accesses;
mod extra_header;
mod host_access;
mod host_headers;
mod secret;
mod sign_in;

pub use accesses::AccessError;
pub(super) use accesses::Accesses;
pub use host_access::{AccessRules, GroupAccess, HostAccess};
pub(super) use host_headers::HostHeaders;
pub use secret::Secret;
pub use sign_in::SignIn;
