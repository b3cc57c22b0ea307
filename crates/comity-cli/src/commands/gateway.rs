use std::sync::Arc;

use comity::config::GateSettings;
use comity::policy::Clock as _;
use comity_fetch::{Fetcher, SystemClock, SystemNet, SystemRandom};
use comity_gate::GateConfig;
use comity_gateway::{Gateway, Listeners, Phase};
use tokio::sync::watch;

use super::runtime;
use super::stops::Stops;
use crate::args::GatewayArgs;
use crate::exit::{Exit, Failure};
use crate::log::say;
use crate::settings;

/// `comity gateway`: serves until it is told to stop, then finishes what is under way.
pub(crate) fn run(args: &GatewayArgs) -> Result<Exit, Failure> {
    let file = settings::of_file(&args.config)?;
    let config = settings::gateway(&file.gateway)?;
    let clock = Arc::new(SystemClock::new());
    let settings = GateSettings::resolve(file, clock.wall())?;
    runtime()?.block_on(async {
        for note in &settings.notes {
            say(&format!("note: {note}"));
        }
        let state = settings.open_state(clock.wall()).map_err(comity::Error::from)?;
        let fetcher =
            Fetcher::new(Arc::new(SystemNet::new()), clock.clone(), settings.fetch).map_err(comity::Error::from)?;
        let gate = GateConfig { state, ..settings.gate };
        let gateway = Gateway::new(fetcher, clock, Arc::new(SystemRandom::new()), gate, config)
            .map_err(|error| Failure::usage(format!("[gateway] {error}")))?;
        let listeners = gateway.bind().await.map_err(|error| Failure::unavailable(error.to_string()))?;
        let (phase, told) = watch::channel(Phase::Serving);
        // Listened for before anybody can know that we are here.
        let obeying = tokio::spawn(obey(Stops::listen()?, phase));
        announce(&listeners)?;
        gateway.serve(listeners, told).await;
        obeying.abort();
        say("stopped");
        Ok(Exit::Done)
    })
}

/// Where it listens, once it does: a port of 0 has become one.
fn announce(listeners: &Listeners) -> Result<(), Failure> {
    let unknown = |error: std::io::Error| Failure::unavailable(error.to_string());
    say(&format!("proxy on {}", listeners.proxy().local_addr().map_err(unknown)?));
    if let Some(api) = listeners.api() {
        say(&format!("decisions on {}", api.local_addr().map_err(unknown)?));
    }
    Ok(())
}

/// Once drains, twice stops now.
async fn obey(mut stops: Stops, phase: watch::Sender<Phase>) {
    stops.next().await;
    say("draining; once more stops now");
    phase.send_replace(Phase::Draining);
    stops.next().await;
    phase.send_replace(Phase::Stopped);
    // Whoever watches must not take the end of this task for a word.
    phase.closed().await;
}
