//! Options of a server over HTTP: its headers and its transport.

use std::env;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use clap::{Args, ValueEnum};
use hyper::header::{AUTHORIZATION, HeaderValue};
use portion_auth::oauth::{
    Challenge, OAuthSession, Secret, ServerUrl, SessionOptions, ShowLogin, TokenStore,
};
use portion_config::reference::{ProcessEnvironment, expand};
use portion_config::{Config, LoginConfig, ServerConfig, find};
use portion_mcp::upstream::http::{
    AuthorizationError, AuthorizationFuture, Authorizer, HttpClient, Rejection,
};
use portion_mcp::upstream::link::remote;
use portion_policy::upstream::{Transport, UpstreamTarget};

use crate::cli::failure::{Result, UsageError};

pub(crate) const HEADER_HELP: &str = "Header of each request to the server, `Name: value`; may be repeated. ${NAME} \
                                      is an environment variable, ${file:/path} a file, $$ a dollar sign";

/// Time for a person to finish a login.
pub(crate) const LOGIN_TIMEOUT: Duration = Duration::from_mins(10);

/// Time that a request waits for a token. Most clients wait 60 s for the response to `initialize`.
pub(crate) const REQUEST_TIMEOUT: Duration = Duration::from_secs(55);

const LOGIN_HEADING: &str = "Login";

const SECRET_HELP: &str = "Secret of the client, with ${NAME} from the environment or ${file:/path}";

/// Headers of each request, and the transport.
#[derive(Clone, Debug, Default, PartialEq, Eq, Args)]
pub(crate) struct RemoteArgs {
    #[arg(long = "header", value_name = "FIELD", requires = "http_server", conflicts_with = "command", help = HEADER_HELP)]
    headers: Vec<String>,
    /// Transport of the server: auto (detected, the default), http (streamable HTTP) or sse (revision 2024-11-05)
    #[arg(long, value_name = "NAME", conflicts_with = "command", hide_possible_values = true)]
    transport: Option<TransportArg>,
}

/// Transport of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum TransportArg {
    Auto,
    /// Streamable HTTP; clients have several names for it.
    #[value(aliases = ["streamable-http", "streamableHttp"])]
    Http,
    Sse,
}

/// A server over HTTP.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct RemoteServer {
    pub(crate) url: String,
    /// Headers of each request, with references resolved.
    pub(crate) headers: Vec<String>,
    pub(crate) transport: Transport,
}

impl RemoteArgs {
    /// Returns the server at this URL.
    ///
    /// # Errors
    /// Returns an error if a reference cannot be resolved.
    pub(crate) fn resolve(&self, url: &str) -> Result<RemoteServer, UsageError> {
        let (headers, transport) = (self.headers()?, self.transport().unwrap_or_default());
        Ok(RemoteServer { url: url.to_owned(), headers, transport })
    }

    /// Returns the headers of each request.
    ///
    /// # Errors
    /// Returns an error if a reference cannot be resolved.
    pub(crate) fn headers(&self) -> Result<Vec<String>, UsageError> {
        let follow =
            |line: &String| expand(line, &ProcessEnvironment).map_err(|why| format!("a header {why}").into());
        self.headers.iter().map(follow).collect()
    }

    /// Returns true if headers were given.
    pub(crate) fn has_headers(&self) -> bool {
        !self.headers.is_empty()
    }

    /// Returns the transport, if it was given.
    pub(crate) fn transport(&self) -> Option<Transport> {
        self.transport.map(|transport| match transport {
            TransportArg::Auto => Transport::Auto,
            TransportArg::Http => Transport::Http,
            TransportArg::Sse => Transport::Sse,
        })
    }

    /// Rejects `--transport` if no server on the command line has a URL: it would be ignored.
    ///
    /// # Errors
    /// Returns an error if it was given.
    pub(crate) fn reject_transport_without_url(&self) -> Result<(), UsageError> {
        if self.transport.is_none() {
            return Ok(());
        }
        Err("--transport needs a server URL on the command line; in the configuration, set transport beside \
             url"
        .into())
    }
}

impl RemoteServer {
    /// Returns true if `serve` has a connection of its own to it, which does not carry the credentials of callers: it
    /// speaks the older transport. That cannot be probed, because only the clients may have credentials for it.
    pub(crate) fn has_own_connection(&self) -> bool {
        match self.transport {
            Transport::Auto => {
                UpstreamTarget::new(&self.url).is_ok_and(|target| target.url().path().ends_with("/sse"))
            }
            Transport::Http => false,
            Transport::Sse => true,
        }
    }

    /// Returns the connector without logins, for messages of at most `message_limit` bytes.
    ///
    /// # Errors
    /// Returns an error if the URL or a header is invalid.
    pub(crate) fn to_link_remote(&self, message_limit: usize) -> Result<remote::RemoteConnector> {
        let mut target = UpstreamTarget::new(&self.url)?;
        for line in &self.headers {
            target = target.with_header(line)?;
        }
        let client = HttpClient::new(target.url().scheme_str() == Some("https"))?;
        Ok(remote::RemoteConnector {
            target,
            client,
            message_limit,
            transport: self.transport,
            authorizer: None,
        })
    }
}

/// Options of a login.
#[derive(Clone, Debug, Default, PartialEq, Eq, Args)]
pub(crate) struct LoginArgs {
    /// Print the URL of a login instead of opening a browser; also by the variable `PORTION_NO_BROWSER`
    #[arg(long, help_heading = LOGIN_HEADING)]
    no_browser: bool,
    /// Id of a client that is registered at the authorization server (default: Portion registers itself)
    #[arg(long, value_name = "ID", help_heading = LOGIN_HEADING)]
    client_id: Option<String>,
    #[arg(long, value_name = "SECRET", requires = "client_id", help = SECRET_HELP, help_heading = LOGIN_HEADING)]
    client_secret: Option<String>,
    /// URL of a client id metadata document, used where the authorization server supports such documents
    #[arg(long, value_name = "URL", conflicts_with = "client_id", help_heading = LOGIN_HEADING)]
    client_metadata_url: Option<String>,
    /// Scopes to request, separated by spaces (default: those that the server names)
    #[arg(long, value_name = "SCOPES", help_heading = LOGIN_HEADING)]
    scope: Option<String>,
    /// Port of the redirect on this machine (default: any free port)
    #[arg(long, value_name = "PORT", help_heading = LOGIN_HEADING)]
    callback_port: Option<u16>,
}

impl LoginArgs {
    /// Returns true if any option was given.
    pub(crate) fn is_given(&self) -> bool {
        *self != Self::default()
    }

    /// Returns the options of a session whose logins are shown by `show`. `configured` has what no option says.
    ///
    /// # Errors
    /// Returns an error if a value is invalid.
    pub(crate) fn resolve(
        &self,
        configured: &LoginConfig,
        show: Option<ShowLogin>,
        request_timeout: Duration,
    ) -> Result<SessionOptions, UsageError> {
        let secret = self.client_secret.as_deref();
        let secret = secret.map(|text| expand(text, &ProcessEnvironment)).transpose();
        let secret = secret.map_err(|why| format!("--client-secret {why}"))?;
        let has_identity = self.client_id.is_some() || self.client_metadata_url.is_some();
        let (client_id, client_secret, client_metadata_url) = if has_identity {
            (self.client_id.clone(), secret, self.client_metadata_url.clone())
        } else {
            let LoginConfig { client_id, client_secret, client_metadata_url, .. } = configured.clone();
            (client_id, client_secret, client_metadata_url)
        };
        if let Some(url) = &client_metadata_url {
            let url: hyper::Uri =
                url.parse().map_err(|_| UsageError::from("--client-metadata-url is not a URL"))?;
            if url.scheme_str() != Some("https") || url.path() == "/" {
                return Err("the URL of the client metadata: write an https URL with a path".into());
            }
        }
        Ok(SessionOptions {
            client_id,
            client_secret,
            client_metadata_url,
            scope: self.scope.clone().or_else(|| configured.scope.clone()),
            callback_port: self.callback_port.unwrap_or(configured.callback_port),
            login_timeout: LOGIN_TIMEOUT,
            request_timeout,
            show,
        })
    }

    /// Returns the function that shows the URL of a login.
    pub(crate) fn show(&self, server: &ServerUrl) -> ShowLogin {
        let opens_browser = !self.no_browser && !is_set("PORTION_NO_BROWSER");
        let server = server.to_string();
        Arc::new(move |url| {
            super::terminal::print_stderr!(
                "portion: {server} requires a login. Log in at this address:\n{url}"
            );
            if opens_browser {
                open_page(url);
            }
        })
    }
}

/// Returns the choices that the configuration has for logins at the server with this URL.
pub(crate) fn configured_login(config: &Config, url: &str) -> LoginConfig {
    let Ok(server) = ServerUrl::parse(url) else { return LoginConfig::default() };
    let logins = config.upstreams().iter().filter_map(|upstream| match &upstream.server {
        ServerConfig::Url { url, login, .. } => {
            Some((ServerUrl::parse(url).ok()?, LoginConfig::clone(login)))
        }
        ServerConfig::Command { .. } | ServerConfig::Rest(_) => None,
    });
    let mut of_server = logins.filter(|(url, _)| *url == server).map(|(_, login)| login);
    of_server.find(|login| *login != LoginConfig::default()).unwrap_or_default()
}

/// Opens a page. Without a browser, the URL that was printed remains.
pub(crate) fn open_page(url: &str) {
    let (program, first): (&str, &[&str]) = match env::consts::OS {
        "macos" => ("open", &[]),
        // No shell, which would split the URL at `&`.
        "windows" => ("rundll32", &["url.dll,FileProtocolHandler"]),
        _ => ("xdg-open", &[]),
    };
    let mut command = Command::new(program);
    command.args(first).arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    match command.spawn() {
        Ok(mut child) => drop(std::thread::spawn(move || child.wait())),
        Err(error) => {
            super::terminal::print_stderr!("portion: no browser could be opened ({program}: {error})");
        }
    }
}

/// Returns true if a variable is set to something other than nothing or 0.
fn is_set(name: &str) -> bool {
    env::var_os(name).is_some_and(|value| !value.is_empty() && value != "0")
}

/// Returns the directory of the stored tokens.
///
/// # Errors
/// Returns an error if the user has no home directory.
pub(crate) fn token_store() -> Result<TokenStore, String> {
    let directory = find::oauth_dir().ok_or("no home directory was found for the tokens; set HOME")?;
    Ok(TokenStore::new(directory))
}

/// Returns the session of a server that may log in; `None` if the operator has chosen the credentials of its requests,
/// or tokens must not be sent there.
///
/// # Errors
/// Returns an error if an option is invalid.
pub(crate) fn interactive_login(
    target: &UpstreamTarget,
    args: &LoginArgs,
    configured: &LoginConfig,
    request_timeout: Duration,
) -> Result<Option<Arc<dyn Authorizer>>, UsageError> {
    authorizer(target, |server| {
        let show = (!is_set("PORTION_NO_LOGIN")).then(|| args.show(server));
        args.resolve(configured, show, request_timeout)
    })
}

/// Returns the session of a server that uses stored tokens only.
///
/// # Errors
/// Returns no error today.
pub(crate) fn stored_login(target: &UpstreamTarget) -> Result<Option<Arc<dyn Authorizer>>, UsageError> {
    authorizer(target, |_| LoginArgs::default().resolve(&LoginConfig::default(), None, REQUEST_TIMEOUT))
}

fn authorizer(
    target: &UpstreamTarget,
    options: impl FnOnce(&ServerUrl) -> Result<SessionOptions, UsageError>,
) -> Result<Option<Arc<dyn Authorizer>>, UsageError> {
    let Ok(server) = ServerUrl::parse(&target.url().to_string()) else { return Ok(None) };
    let Ok(store) = token_store() else { return Ok(None) };
    if target.headers().contains_key(AUTHORIZATION) {
        return Ok(None);
    }
    let options = options(&server)?;
    Ok(Some(Arc::new(SessionAuthorizer(OAuthSession::new(server, store, options)))))
}

/// Tokens of a session as headers.
struct SessionAuthorizer(OAuthSession);

impl Authorizer for SessionAuthorizer {
    fn authorization(&self) -> AuthorizationFuture<'_, Option<HeaderValue>> {
        Box::pin(async { self.0.token().await.and_then(|token| bearer(&token)) })
    }

    fn renew(
        &self,
        rejection: Rejection,
    ) -> AuthorizationFuture<'_, Result<Option<HeaderValue>, AuthorizationError>> {
        Box::pin(async move {
            let rejected = rejection.authorization.as_ref().and_then(|value| value.to_str().ok());
            let rejected = rejected.and_then(|value| value.strip_prefix(BEARER)).map(Secret::new);
            let challenge = Challenge::from_headers(&rejection.headers);
            let renewed = self.0.renew(rejected, rejection.status, challenge, rejection.is_repeated).await;
            let renewed = renewed.map_err(|error| AuthorizationError(error.to_string()))?;
            Ok(renewed.and_then(|token| bearer(&token)))
        })
    }

    fn is_pending(&self) -> bool {
        self.0.is_pending()
    }
}

const BEARER: &str = "Bearer ";

fn bearer(token: &Secret) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(&format!("{BEARER}{}", token.expose())).ok()?;
    value.set_sensitive(true);
    Some(value)
}
