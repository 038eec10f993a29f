//! Tests of the layer in front of real services.

mod layer;
mod pushdown;
