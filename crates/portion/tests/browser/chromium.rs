//! A real browser: chromedriver, one session of Chromium, and what it says of a page.

use std::io::{self, BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use fantoccini::wd::WebDriverCompatibleCommand;
use fantoccini::{Client, ClientBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::Outcome;

/// As root, in a container, and with nothing that asks anybody else.
const FLAGS: [&str; 9] = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--force-color-profile=srgb",
];

/// A browser.
pub(crate) struct Chromium {
    driver: Child,
    pub(crate) client: Client,
    /// Its profile, which is empty at the start.
    _profile: TempDir,
}

/// Something that only this driver knows.
#[derive(Debug)]
struct Own(&'static str, Value);

impl WebDriverCompatibleCommand for Own {
    fn endpoint(&self, base: &url::Url, session: Option<&str>) -> Result<url::Url, url::ParseError> {
        base.join(&format!("session/{}/{}", session.unwrap_or_default(), self.0))
    }

    fn method_and_body(&self, _: &url::Url) -> (http::Method, Option<String>) {
        (http::Method::POST, Some(self.1.to_string()))
    }
}

impl Chromium {
    pub(crate) async fn start() -> Outcome<Self> {
        let mut driver = Command::new("chromedriver").arg("--port=0").stdout(Stdio::piped()).spawn()?;
        let said = driver.stdout.take().ok_or("a piped stream is there once")?;
        let mut port = None;
        for line in BufReader::new(said).lines() {
            let line = line?;
            port = line
                .split("successfully on port ")
                .nth(1)
                .and_then(|rest| rest.trim_end_matches('.').parse::<u16>().ok());
            if port.is_some() {
                break;
            }
        }
        let port = port.ok_or_else(|| io::Error::other("chromedriver says no port"))?;
        let profile = tempfile::tempdir()?;
        let mut flags: Vec<String> = FLAGS.map(str::to_owned).to_vec();
        flags.push(format!("--user-data-dir={}", profile.path().display()));
        let capabilities = json!({
            "goog:chromeOptions": { "args": flags },
            "goog:loggingPrefs": { "browser": "ALL" },
        });
        let capabilities = capabilities.as_object().cloned().unwrap_or_default();
        let client = ClientBuilder::new(HttpConnector::new())
            .capabilities(capabilities)
            .connect(&format!("http://127.0.0.1:{port}"))
            .await?;
        Ok(Self { driver, client, _profile: profile })
    }

    /// Shows a page, once its charts are drawn.
    pub(crate) async fn visit(&self, url: &str) -> Outcome<()> {
        self.client.goto(url).await?;
        let drawn = "return !document.getElementById('plotted') || document.documentElement.dataset.drawn !== undefined";
        for _ in 0..200 {
            if self.run(drawn).await? == json!(true) {
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        Err(format!("the charts of {url} are not drawn: {:?}", self.said().await?).into())
    }

    /// Returns the result of a script.
    pub(crate) async fn run(&self, script: &str) -> Outcome<Value> {
        Ok(self.client.execute(script, vec![]).await?)
    }

    /// Returns the result of an asynchronous script, which calls `arguments[0]`.
    pub(crate) async fn run_async(&self, script: &str) -> Outcome<Value> {
        Ok(self.client.execute_async(script, vec![]).await?)
    }

    /// Returns the messages of the browser since the last call: errors, warnings, violations of the policy.
    pub(crate) async fn said(&self) -> Outcome<Value> {
        Ok(self.client.issue_cmd(Own("se/log", json!({ "type": "browser" }))).await?)
    }

    /// Sets the width and height of the page.
    pub(crate) async fn size(&self, width: u32, height: u32) -> Outcome<()> {
        let size = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        self.devtools("Emulation.setDeviceMetricsOverride", size).await.map(drop)
    }

    /// Sets the preferred colour scheme: `light` or `dark`.
    pub(crate) async fn scheme(&self, scheme: &str) -> Outcome<()> {
        let features = json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] });
        self.devtools("Emulation.setEmulatedMedia", features).await.map(drop)
    }

    /// Sets the time zone of the viewer.
    pub(crate) async fn zone(&self, zone: &str) -> Outcome<()> {
        self.devtools("Emulation.setTimezoneOverride", json!({ "timezoneId": zone })).await.map(drop)
    }

    /// A picture of what is seen, or of the whole page.
    pub(crate) async fn picture(&self, file: &Path, whole: bool) -> Outcome<()> {
        let height = if whole { "document.documentElement.scrollHeight" } else { "innerHeight" };
        let size = self.run(&format!("return [innerWidth, {height}]")).await?;
        let clip = json!({ "x": 0, "y": 0, "width": size[0], "height": size[1], "scale": 1 });
        let answer = self
            .devtools("Page.captureScreenshot", json!({ "captureBeyondViewport": true, "clip": clip }))
            .await?;
        let picture = answer["data"].as_str().ok_or("a picture is text")?;
        std::fs::write(file, base64::Engine::decode(&base64::prelude::BASE64_STANDARD, picture)?)?;
        Ok(())
    }

    pub(crate) async fn leave(self) -> Outcome<()> {
        Ok(self.client.clone().close().await?)
    }

    async fn devtools(&self, command: &str, parameters: Value) -> Outcome<Value> {
        let own = Own("goog/cdp/execute", json!({ "cmd": command, "params": parameters }));
        Ok(self.client.issue_cmd(own).await?)
    }
}

impl Drop for Chromium {
    fn drop(&mut self) {
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}
