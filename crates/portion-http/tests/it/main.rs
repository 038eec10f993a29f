//! Tests of the layer in front of real services.

mod example;
mod layer;
mod pushdown;
