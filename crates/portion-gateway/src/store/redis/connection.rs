//! Connections to one server, to a cluster, or to the master that sentinels name.

use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::cluster::ClusterClientBuilder;
use redis::cluster_async::ClusterConnection;
use redis::sentinel::{SentinelClient, SentinelNodeConnectionInfo, SentinelServerType};
use redis::{
    AsyncConnectionConfig, Client, IntoConnectionInfo as _, Pipeline, RedisResult, TlsCertificates, TlsMode,
    Value,
};

use super::url::{StoreUrl, Topology, UrlError};

/// An open connection, which any number of tasks can use.
#[derive(Clone)]
pub(crate) enum Connection {
    Single(MultiplexedConnection),
    Cluster(ClusterConnection),
}

/// Connects to a store.
pub(crate) struct Connector {
    target: Target,
    timeout: Duration,
}

enum Target {
    Single(Box<Client>),
    Cluster(Box<redis::cluster::ClusterClient>),
    Sentinel(Box<SentinelClient>),
}

impl Connection {
    /// Runs commands in one round trip.
    pub(crate) async fn run(&mut self, commands: &Pipeline) -> RedisResult<Vec<Value>> {
        match self {
            Self::Single(connection) => commands.query_async(connection).await,
            Self::Cluster(connection) => commands.query_async(connection).await,
        }
    }
}

impl Connector {
    /// Prepares connections whose answers take `timeout` at most.
    ///
    /// # Errors
    /// If the URL or the file with certificates is invalid.
    pub(crate) fn new(url: &StoreUrl, timeout: Duration) -> Result<Self, UrlError> {
        // The client needs a default. An error says that there is one.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let refused = |error: redis::RedisError| UrlError::Refused(error.to_string());
        let unreadable = |error: std::io::Error| UrlError::Refused(format!("the file of ca: {error}"));
        let certificates = match &url.ca_file {
            Some(file) => Some(std::fs::read(file).map_err(unreadable)?),
            None => None,
        };
        let certificates = || TlsCertificates { client_tls: None, root_cert: certificates.clone() };
        let target = match &url.topology {
            Topology::Single => {
                let node = url.nodes.first().map(String::as_str).unwrap_or_default();
                let client = if url.is_secure {
                    Client::build_with_tls(node, certificates())
                } else {
                    Client::open(node)
                };
                Target::Single(Box::new(client.map_err(refused)?))
            }
            Topology::Cluster => {
                let mut builder = ClusterClientBuilder::new(url.nodes.iter().map(String::as_str))
                    .connection_timeout(timeout)
                    .response_timeout(timeout)
                    .overall_response_timeout(Some(timeout))
                    .retries(2);
                if url.is_secure {
                    builder = builder.tls(TlsMode::Secure).certs(certificates());
                }
                Target::Cluster(Box::new(builder.build().map_err(refused)?))
            }
            Topology::Sentinel { service, server } => {
                let server = server.as_str().into_connection_info().map_err(refused)?;
                let mut node = SentinelNodeConnectionInfo::default()
                    .set_redis_connection_info(server.redis_settings().clone());
                if url.is_secure {
                    node = node.set_tls_mode(TlsMode::Secure);
                }
                let sentinels = url.nodes.iter().map(String::as_str).collect();
                let client =
                    SentinelClient::build(sentinels, service, Some(node), SentinelServerType::Master);
                Target::Sentinel(Box::new(client.map_err(refused)?))
            }
        };
        Ok(Self { target, timeout })
    }

    /// Opens a connection.
    pub(crate) async fn connect(&mut self) -> RedisResult<Connection> {
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(self.timeout))
            .set_response_timeout(Some(self.timeout));
        match &mut self.target {
            Target::Single(client) => {
                client.get_multiplexed_async_connection_with_config(&config).await.map(Connection::Single)
            }
            Target::Cluster(client) => client.get_async_connection().await.map(Connection::Cluster),
            Target::Sentinel(client) => {
                client.get_async_connection_with_config(&config).await.map(Connection::Single)
            }
        }
    }
}
