//! Who calls us.

pub mod signals;
pub mod stdio;
