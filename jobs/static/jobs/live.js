"use strict";
// Refreshes what a page marks as data-live by fetching the same address again: every few
// seconds while the page is visible and somebody is there, else once a minute. It waits while
// a box is ticked, a field has focus or a detail is open, so that nothing is swept from under
// a hand.
{
    const AWAY_SECONDS = 60;
    const PRESENT_MS = 60_000;
    const FIELDS = "input, select, textarea, [contenteditable]";
    const seconds = Number(document.querySelector("[data-live-seconds]").dataset.liveSeconds);
    let seenAt = performance.now();
    let refreshedAt = performance.now();
    let isFetching = false;

    const isPresent = () => !document.hidden && performance.now() - seenAt < PRESENT_MS;

    function whyPaused() {
        const content = document.getElementById("content") || document.body;
        if (content.querySelector("input[type=checkbox]:checked")) return "a box is ticked";
        if (document.activeElement?.matches(FIELDS)) return "a field has focus";
        if (content.querySelector("details[open]")) return "a detail is open";
        return "";
    }

    function say(words) {
        const place = document.querySelector("[data-live-state]");
        if (place && place.textContent !== words) place.textContent = words;
    }

    function replace(fresh) {
        for (const region of document.querySelectorAll("[data-live]")) {
            const next = fresh.querySelector(`[data-live="${region.dataset.live}"]`);
            if (next) region.replaceWith(document.adoptNode(next));
        }
        // The admin's own script knows the boxes that are gone.
        const boxes = document.querySelectorAll("tr input.action-select");
        if (boxes.length && window.Actions) window.Actions(boxes);
    }

    async function refresh() {
        const answer = await fetch(window.location.href, {
            headers: {"X-Console-Fragment": "1"},
            cache: "no-store",
        });
        // Signed out, or the row is gone: what is shown stays until somebody looks.
        if (!answer.ok || answer.redirected) return say("no longer refreshes: reload the page");
        const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
        // Meanwhile a hand may have come.
        if (!whyPaused()) replace(fresh);
    }

    async function look() {
        const why = whyPaused();
        if (why) return say(`waits while ${why}`);
        say("refreshes itself");
        const wait = isPresent() ? seconds : AWAY_SECONDS;
        if (isFetching || performance.now() - refreshedAt < wait * 1000) return;
        isFetching = true;
        refreshedAt = performance.now();
        try {
            await refresh();
        } catch {
            say("could not be refreshed: trying again");
        } finally {
            isFetching = false;
        }
    }

    for (const event of ["mousemove", "mousedown", "keydown", "scroll", "touchstart"]) {
        document.addEventListener(event, () => { seenAt = performance.now(); }, {passive: true});
    }
    window.setInterval(look, 500);
}
