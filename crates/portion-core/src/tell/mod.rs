//! What a first reply tells of a payload that it cannot show: facts of all records of a list, the outline of an object.
//!
//! Everything told is exact, or marked `≈`. It stands in the notice, within the tokens that the reply has for it.

mod counts;
mod field;
mod list;
mod moment;
mod number;
mod object;
mod order;
mod shape;
mod sum;
mod tally;
mod value;
mod walk;

pub use list::Facts;
pub use object::outline;
