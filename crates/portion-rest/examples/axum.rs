//! An axum server whose large responses are served in portions.
//!
//! Run it with `cargo run -p portion-rest --example axum`, then:
//!
//!     curl 'http://127.0.0.1:3000/bookings'
//!     curl 'http://127.0.0.1:3000/bookings?fields=id,status&limit=10'
//!
//! Another address is given as the argument.

use std::sync::Arc;

use portion_core::policy::Policy;
use portion_gateway::effective_policy::EffectivePolicy;
use portion_gateway::gateway::Gateway;
use portion_gateway::gateway_parts::{GatewayParts, random_secret};
use portion_gateway::rules::EndpointRules;
use portion_gateway::store::MemoryStore;
use portion_rest::PortionLayer;
use portion_tokens::{Factor, Tokenizer};
use serde_json::{Value, json};

use axum::routing::get;
use axum::{Json, Router};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let policy = EffectivePolicy::with_tokenizer(Policy::default(), Tokenizer::O200k, Factor::ONE);
    let parts =
        GatewayParts::new(EndpointRules::fixed(policy), Arc::new(MemoryStore::default()), random_secret()?);
    let layer = PortionLayer::new(Arc::new(Gateway::new(parts)));
    let app = Router::new().route("/bookings", get(bookings)).layer(layer);
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:3000".to_owned());
    let listener = tokio::net::TcpListener::bind(address).await?;
    let started = format!("listening on http://{}\n", listener.local_addr()?);
    std::io::Write::write_all(&mut std::io::stdout(), started.as_bytes())?;
    axum::serve(listener, app).await?;
    Ok(())
}

/// Returns 500 bookings.
async fn bookings() -> Json<Value> {
    let booking = |id: u32| {
        json!({
            "id": id,
            "status": if id.is_multiple_of(7) { "cancelled" } else { "confirmed" },
            "guest": format!("Guest {id}"),
            "nights": id % 12 + 1,
        })
    };
    Json(json!({ "status": "success", "result": (1..=500).map(booking).collect::<Vec<_>>() }))
}
