//! Three real servers in a temporary folder; `STOPPED=kill` or `STOPPED=stop` takes the last one away.

use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

#[derive(Debug)]
pub struct Servers {
    children: Vec<Child>,
    pub urls: Vec<String>,
    dir: std::path::PathBuf,
}

impl Servers {
    pub fn start(n: usize) -> Self {
        let dir = std::env::temp_dir().join(format!(
            "quorum-sketch-{}-{}",
            std::process::id(),
            rand::random::<u32>()
        ));
        std::fs::create_dir_all(&dir).unwrap();
        let (mut children, mut urls) = (Vec::new(), Vec::new());
        for _ in 0..n {
            let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
            let child = Command::new("redis-server")
                .args([
                    "--bind",
                    "127.0.0.1",
                    "--save",
                    "",
                    "--appendonly",
                    "no",
                    "--port",
                    &port.to_string(),
                    "--dir",
                ])
                .arg(&dir)
                .stdout(Stdio::null())
                .spawn()
                .unwrap();
            children.push(child);
            while TcpStream::connect(("127.0.0.1", port)).is_err() {
                std::thread::sleep(Duration::from_millis(10));
            }
            urls.push(format!("redis://127.0.0.1:{port}/"));
        }
        Self { children, urls, dir }
    }

    pub fn kill(&mut self, i: usize) {
        _ = self.children[i].kill();
        _ = self.children[i].wait();
    }

    pub fn signal(&self, i: usize, signal: &str) {
        _ = Command::new("kill").args([signal, &self.children[i].id().to_string()]).status();
    }
}

impl Drop for Servers {
    fn drop(&mut self) {
        (0..self.children.len()).for_each(|i| self.kill(i));
        _ = std::fs::remove_dir_all(&self.dir);
    }
}
