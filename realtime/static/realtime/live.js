"use strict";
// Shows runs as they happen: an event of the topic says that something has changed, and the
// table is fetched again from this very address, drawn by the server. Bursts are folded.
{
    const FOLD_MS = 250;
    const IDLE_MS = 30_000;
    const place = document.querySelector("[data-realtime-topic]");
    const topic = place.dataset.realtimeTopic;
    const news = new Set();
    let isWaiting = false;
    let isAgain = false;
    let last = null;

    function say(shape, words, tone) {
        const line = place.querySelector("[data-realtime-state]");
        line.className = `console-state console-${tone}`;
        const mark = document.createElement("span");
        mark.setAttribute("aria-hidden", "true");
        mark.textContent = shape;
        line.replaceChildren(mark, ` ${words}`);
    }

    async function redraw() {
        const answer = await fetch(window.location.href, {cache: "no-store"});
        if (!answer.ok || answer.redirected) throw new Error("signed out");
        const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
        const next = document.adoptNode(fresh.querySelector("[data-realtime-runs]"));
        for (const run of news) {
            next.querySelector(`[data-run="${run}"]`)?.classList.add("realtime-news");
        }
        news.clear();
        place.querySelector("[data-realtime-runs]").replaceWith(next);
    }

    async function look() {
        if (isWaiting) {
            isAgain = true;
            return;
        }
        isWaiting = true;
        try {
            do {
                isAgain = false;
                await redraw();
                await new Promise(resolve => window.setTimeout(resolve, FOLD_MS));
            } while (isAgain);
        } catch {
            say("■", "could not be read: reload the page", "bad");
        } finally {
            isWaiting = false;
        }
    }

    // Polling first would need a balancer that keeps a client on one process.
    const socket = window.io({transports: ["websocket", "polling"]});

    socket.on("connect", () => {
        // Without a number there is nothing to go on from: the table is read anew.
        const wish = last === null ? {topic} : {topic, last};
        socket.emit("subscribe", wish, answer => {
            if (!answer.ok) return say("■", `refused: ${answer.error}`, "bad");
            say("●", "live", "good");
            if (last === null) look();
        });
    });
    socket.on("event", message => {
        last = Math.max(last ?? 0, message.number);
        news.add(message.payload.run_id);
        const words = `${message.payload.job_id} ${message.payload.status}`;
        place.querySelector("[data-realtime-last]").textContent = `last: ${words}`;
        look();
    });
    socket.on("resync", look);
    // What is said of time grows old without an event.
    window.setInterval(() => { if (!document.hidden) look(); }, IDLE_MS);
    socket.on("disconnect", reason => {
        say("▲", "connection lost, trying again", "warn");
        // Said by the server: this page is no longer signed in, or was too slow.
        if (reason === "io server disconnect") window.setTimeout(() => socket.connect(), 1000);
    });
    socket.on("connect_error", error => {
        if (error.message === "unauthorized") say("■", "signed out: reload the page", "bad");
    });
}
