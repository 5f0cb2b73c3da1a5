/* ipid: page views without cookies. ipid('track', name, properties), ipid('identify', {email: …}) */
;((window, document, navigator) => {
  const early = window.ipid || {}
  // A module has no current script.
  const script =
    document.currentScript ||
    [...document.scripts].find(({ src }) => /\/s\/web\/(src|pub)_[0-9a-f]{40}\.js([?#]|$)/.test(src))
  if (early.on || !script) return
  const refuses = navigator.globalPrivacyControl || /^(1|yes)$/.test(navigator.doNotTrack || window.doNotTrack)
  window.ipid = refuses ? () => {} : call
  window.ipid.on = 1
  if (refuses) return

  const target = script.src.replace(/\.js([?#].*)?$/, '')
  const { history, location } = window
  let queue = read('queue') || []
  let person = read('person')
  let referrer = document.referrer
  let failures = 0
  let beaconed = []
  let page
  let sending
  let timer

  const session = read('session') || makeId()
  write('session', session)

  // A browser may refuse storage, with an error.
  function read(name) {
    try {
      return JSON.parse(window.sessionStorage.getItem(`ipid.${name}`))
    } catch {}
  }
  function write(name, value) {
    try {
      window.sessionStorage.setItem(`ipid.${name}`, JSON.stringify(value))
    } catch {}
  }
  function makeId() {
    return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => (byte + 256).toString(16).slice(1)).join('')
  }
  function keep(events) {
    queue = events.slice(-100)
    write('queue', queue)
  }
  // A copy as JSON, now: a page may change an object later, and one that is no JSON must hold up no other event.
  function copy(value) {
    try {
      return JSON.parse(JSON.stringify(value))
    } catch {}
  }
  function add(type, given) {
    const properties = copy(given)
    const { title } = document
    keep([...queue, { id: makeId(), type, at: Date.now(), url: here(), referrer, title, properties, user: person }])
    sendIn(10)
  }
  function here() {
    return location.href.split('#')[0]
  }
  function bodyOf(events) {
    return JSON.stringify({ events, session, sent_at: Date.now() })
  }
  function sendIn(ms) {
    clearTimeout(timer)
    timer = setTimeout(send, ms)
  }
  function send() {
    const batch = queue.slice(0, 20)
    if (sending || !batch.length) return
    sending = 1
    const body = bodyOf(batch)
    // Browsers refuse more than 64 KB with keepalive.
    void fetch(target, { method: 'POST', body, keepalive: body.length < 2e4, credentials: 'omit' })
      .then(
        ({ status }) => status === 408 || status === 429 || status > 499,
        () => 1,
      )
      .then((again) => {
        sending = 0
        failures = again ? failures + 1 : 0
        if (!again) keep(queue.filter((event) => !batch.includes(event)))
        sendIn(again ? Math.min(3e4, 500 * 2 ** failures) : 0)
      })
  }
  // Events in a beacon stay in the queue, because it may be lost. Repeats have the same ids.
  function leave() {
    const left = queue.filter((event) => !beaconed.includes(event))
    while (left.length && navigator.sendBeacon(target, bodyOf(left.slice(0, 20)))) beaconed.push(...left.splice(0, 20))
  }
  function view() {
    if (page === here()) return
    if (page) referrer = page
    page = here()
    add('page')
  }
  function call(name, first, second) {
    if (name === 'track') add(`${first}`, second)
    if (name === 'page') add(name, first)
    if (name === 'identify') {
      person = copy(first)
      write('person', person)
      add(name)
    }
  }

  for (const name of ['pushState', 'replaceState']) {
    const original = history[name]
    history[name] = function (...state) {
      original.apply(this, state)
      // Pages set their title afterwards.
      setTimeout(view)
    }
  }
  window.addEventListener('popstate', () => setTimeout(view))
  window.addEventListener('pagehide', leave)
  window.addEventListener('pageshow', ({ persisted }) => {
    if (!persisted) return
    page = 0
    view()
  })
  document.addEventListener('visibilitychange', () => {
    if (document.visibilityState === 'hidden') return leave()
    beaconed = []
    sendIn(0)
  })
  if (document.prerendering) document.addEventListener('prerenderingchange', view)
  else view()
  for (const waiting of early.q || []) call(...waiting)
})(window, document, navigator)
