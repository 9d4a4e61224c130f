//! Programs that do a part of the same: nginx as a plain proxy, and LiteLLM's proxy.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use tokio::net::TcpStream;
use tokio::process::{Child, Command};

/// LiteLLM takes a while.
const PATIENCE: Duration = Duration::from_mins(3);

/// A program in a folder of its own, on a free port.
pub(super) struct Peer {
    child: Child,
    pub(super) port: u16,
    folder: PathBuf,
}

impl Peer {
    /// nginx with one worker, which passes everything on at once.
    pub(super) async fn nginx(program: &Path, upstream: u16) -> Result<Self> {
        let (folder, port) = (folder("nginx")?, free_port()?);
        let here = folder.display();
        let config = format!(
            "daemon off; master_process off; worker_rlimit_nofile 8192; pid {here}/pid; error_log {here}/errors;\n\
             events {{ worker_connections 4096; }}\n\
             http {{ access_log off; client_body_temp_path {here}/a; proxy_temp_path {here}/b;\n\
             fastcgi_temp_path {here}/c; uwsgi_temp_path {here}/d; scgi_temp_path {here}/e;\n\
             upstream model {{ server 127.0.0.1:{upstream}; keepalive 1024; }}\n\
             server {{ listen 127.0.0.1:{port}; location / {{ proxy_pass http://model; proxy_http_version 1.1;\n\
             proxy_set_header Connection \"\"; proxy_buffering off; proxy_read_timeout 600s; }} }} }}\n"
        );
        fs::write(folder.join("nginx.conf"), config)?;
        let mut command = Command::new(program);
        command.arg("-p").arg(&folder).arg("-c").arg(folder.join("nginx.conf"));
        command.arg("-e").arg(folder.join("errors"));
        Self::start(command, program, port, folder).await
    }

    /// LiteLLM's proxy with one worker, for any model.
    pub(super) async fn litellm(program: &Path, upstream: u16) -> Result<Self> {
        let (folder, port) = (folder("litellm")?, free_port()?);
        let config = format!(
            "model_list:\n  - model_name: \"*\"\n    litellm_params:\n      model: \"openai/*\"\n      \
             api_base: http://127.0.0.1:{upstream}/v1\n      api_key: none\n\
             litellm_settings:\n  telemetry: false\n"
        );
        fs::write(folder.join("config.yaml"), config)?;
        let mut command = Command::new(program);
        command.args(["--host", "127.0.0.1", "--num_workers", "1", "--port"]).arg(port.to_string());
        command.arg("--config").arg(folder.join("config.yaml")).current_dir(&folder);
        command.env("LITELLM_LOCAL_MODEL_COST_MAP", "True").env("LITELLM_LOG", "ERROR");
        // Without keys: who may call is nobody's concern here, and it would cost it more.
        command.env("LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY", "true");
        Self::start(command, program, port, folder).await
    }

    async fn start(mut command: Command, program: &Path, port: u16, folder: PathBuf) -> Result<Self> {
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true);
        let child = command.spawn().with_context(|| format!("starting {}", program.display()))?;
        let mut peer = Self { child, port, folder };
        let begin = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).await.is_err() {
            let ended = peer.child.try_wait()?;
            if let Some(status) = ended {
                bail!("{} ended with {status}", program.display());
            }
            if begin.elapsed() > PATIENCE {
                bail!("{} does not listen after {PATIENCE:?}", program.display());
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        Ok(peer)
    }

    pub(super) fn id(&self) -> Result<u32> {
        self.child.id().context("the program has ended")
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // A folder left in the temporary directory is harmless.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn folder(name: &str) -> Result<PathBuf> {
    let folder = std::env::temp_dir().join(format!("gateway-bench-{}-{name}", std::process::id()));
    fs::create_dir_all(&folder)?;
    Ok(folder)
}

fn free_port() -> Result<u16> {
    Ok(std::net::TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port())
}
