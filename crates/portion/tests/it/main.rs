//! Tests of the program and of its documentation. Tests in a browser are a binary of their own, because they need
//! Chromium.

mod demo;
mod docs;
mod usage;
