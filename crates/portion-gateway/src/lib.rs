//! The edge of Portion.

pub mod frame;
pub mod front;
pub mod relay;
pub mod upstream;
