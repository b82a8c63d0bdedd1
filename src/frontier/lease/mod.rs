//! What goes out of a frontier to a fetcher, and what comes back.
//!
//! ```text
//!   Next::Fetch(Lease) ──▶ the request ──▶ Reply ──▶ Outcome ──▶ Completion::Done
//!                                                               Completion::Retry(when)
//! ```
//!
//! A [`Lease`] is one URL lent to one fetcher. It is a debt: until it is completed, it takes one of its host's connections, mostly the only
//! one. It has the URL, its host, the number of the try and the metadata; nothing here changes what a frontier knows.
//!
//! What comes back is an [`Outcome`], or a whole [`Reply`] from which the outcome and the links are read. If the try failed, a [`Failure`]
//! with its words is a [`Trouble`], and `Blame` says what it counts against: the page, its host, the host's load or rate, or the fetcher
//! itself. A `Setback` is both together, with the rest that the host asked for.

mod href;
#[expect(clippy::module_inception, reason = "the room has its name from what stands in it")]
mod lease;
mod next;
mod outcome;
pub(crate) mod reply;
mod resolved;
mod setback;
mod trouble;
mod validators;
mod waited;

pub use href::Href;
pub use lease::{Lease, LeaseKind};
pub(crate) use lease::{OnAddress, Texts};
pub use next::Next;
pub use outcome::{Completion, Outcome};
pub use reply::Reply;
#[cfg_attr(
    not(feature = "crawl"),
    expect(unused_imports, reason = "a crawl's workers pass the gate by themselves")
)]
pub(crate) use reply::{Redirect, is_redirect};
pub use resolved::Resolved;
pub(crate) use setback::Setback;
pub(crate) use trouble::Blame;
pub use trouble::{Failure, Trouble};
pub use validators::Validators;
pub(crate) use waited::Waited;
