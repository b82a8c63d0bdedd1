//! What single hosts are sent beside what all are: headers, a sign-in, a certificate.
//!
//! [`AccessRules`] say it as a user writes it, by hosts' names. [`Accesses`] compiles them once, when the client is made, into one
//! [`HostHeaders`] for each name, with all headers of a request in it. So a request costs one lookup of its host's name, and none where
//! there are no rules.
//!
//! # Where a secret may go
//!
//! A secret comes from a file or an environment variable, and is read once. It stands in one place from then on, the [`HostHeaders`] of its
//! name, as a header that is marked as sensitive: `Debug` does not show it, and HTTP/2 keeps it out of its tables. It is added to
//! a request by the request's own origin. Redirects are links here, so a redirect to another origin is another request, which has
//! what its own origin is owed and nothing else. That holds for another port, and for http behind https, too.
//!
//! A client certificate is shown to the hosts of its rule alone, whatever their port; its key leaves nobody's memory. How TLS is spoken
//! with a host stands beside its headers, as a [`Connector`](super::tls::Connector).
//!
//! An [`Exchange`](super::Exchange), which is what outputs see of a request, has the header's name and `(not kept)` for its value. Where
//! a request had a secret, or its connection a certificate, that holds for the `Set-Cookie` of its response too: a session is as good as a password.

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
