//! The pure core of Portion: what an upstream said is captured once and rendered many times,
//! each time under a token budget.
pub mod cursor;
pub mod payload;
pub mod policy;
pub mod scan;
pub mod span;
pub mod tokens;
