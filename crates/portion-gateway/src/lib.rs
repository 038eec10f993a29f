//! The edge of Portion.

mod aside;
pub mod call;
mod decision;
pub mod fault;
pub mod frame;
pub mod front;
pub mod gateway;
pub mod mcp;
pub mod relay;
mod renderer;
pub mod settings;
pub mod store;
pub mod upstream;
