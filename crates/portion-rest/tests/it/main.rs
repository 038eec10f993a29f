//! Tests of the layer in front of real services, and of tools for REST APIs.

mod example;
mod layer;
mod openapi;
mod pushdown;
