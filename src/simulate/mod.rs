//! A simulated web on loopback. It is determined by a seed.
//!
//! ```
//! use crawler::simulate::{SimulateOptions, World};
//!
//! let world = World::new(&SimulateOptions::default())?;
//! let answer = world.respond("www.simulated.test", "/", 1);
//! assert_eq!(answer.status, 200);
//! # Ok::<(), crawler::simulate::SimulateError>(())
//! ```
//!
//! A [`World`] is a function: [`World::respond`] computes a page when it is requested. Links have many spellings, and [`World::find`] finds
//! the page of each spelling, by the world's own rules. [`World::truth`] walks the links as ids, without any text, to learn what an ideal
//! crawl fetches. A [`Server`] serves the world, and reports each request to a [`Judge`]. The judge's [`Judgment`] compares the crawl with
//! the truth.
//!
//! The simulated web does not represent the HTML of the real web, or its networks: every name resolves to one address, and every page is
//! well-formed. Only the links are written as carelessly as on real pages. On request there are also endless sites, whose pages are
//! [`Trap`]s.

mod answer;
mod dice;
mod host;
mod judge;
mod links;
mod render;
mod request;
mod server;
mod truth;
mod world;

pub use answer::Answer;
pub use judge::{Judge, Judgment};
pub use request::{Asked, Trap};
pub use server::Server;
pub use truth::{Reach, Truth, TruthOptions};
pub use world::{PageId, SimulateError, SimulateOptions, World};
