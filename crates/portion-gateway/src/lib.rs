//! The edge of Portion.

pub mod call;
pub mod fault;
pub mod frame;
pub mod front;
pub mod relay;
pub mod store;
pub mod upstream;
