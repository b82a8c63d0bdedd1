//! A simulated web, deterministic from a number, served on loopback.
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
//! A [`World`] is a function: [`World::respond`] computes each page when it is requested. Its links are spelled in many ways, and
//! [`World::find`] leads each spelling back to one page by the world's own rules. [`World::truth`] walks the same links without any text,
//! so it knows what an ideal crawl fetches. A [`Server`] serves the world and shows each request to a [`Judge`]. The judge's [`Judgment`]
//! compares the crawl with the truth.
//!
//! The simulated web does not represent the HTML of the real web, or its networks: every name resolves to one address, and every page is
//! well-formed. Only the links are as careless as people write them. On request, there are also sites without end: a [`Trap`] is a page of
//! one.

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
