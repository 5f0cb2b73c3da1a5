/* ipid: page views without cookies. ipid('track', name, properties), ipid('identify', {email: …}) */
;((window, document, navigator) => {
  const early = window.ipid || {}
  // A module has no current script.
  const script =
    document.currentScript || [...document.scripts].find(({ src }) => /\/(src|pub)_[0-9a-f]{40}\.js([?#]|$)/.test(src))
  if (early.on || !script) return
  const refuses = navigator.globalPrivacyControl || /^(1|yes)$/.test(navigator.doNotTrack || window.doNotTrack)
  const ipid = refuses ? () => {} : call
  for (const name of ['track', 'page', 'identify', 'optIn', 'optOut']) ipid[name] = (...given) => ipid(name, ...given)
  ipid.on = 1
  window.ipid = ipid
  if (refuses) return

  const target = script.src.replace(/\.js([?#].*)?$/, '')
  const { history, location } = window
  const { dataset } = script
  const hash = has('hash')
  const isManual = has('manual')
  // Paths to leave out; `*` stands for any text.
  const hidden = (dataset.exclude || '').split(',').filter((path) => path.trim())
  const hiddenPaths = hidden.map((path) => {
    // As the browser writes it in the path of a page.
    const text = new URL(`http://a/${path.trim().replace(/\/?#!?\/?/, '/')}`).pathname.slice(1)
    return RegExp(`^${text.replace(/[.+?^$()|[\]{}]/g, '\\$&').replace(/\*+/g, '.*')}$`)
  })
  const given = dataset.downloads
  const endings =
    given && given !== 'true'
      ? given.replace(/\W+/g, '|')
      : '7z|csv|dmg|docx?|exe|gz|mov|mp[34]|msi|pdf|pkg|pptx?|rar|tar|tgz|txt|wav|xlsx?|zip'
  const isFile = RegExp(`\\.(${endings})$`, 'i')
  let choice
  let queue = (isAllowed() && read('queue')) || []
  let person = read('person')
  let referrer = isHidden(document.referrer) ? '' : document.referrer
  let failures = 0
  let beaconed = []
  let session
  let page
  let changed
  let changing
  let sending
  let timer

  function has(name) {
    return name in dataset && dataset[name] !== 'false'
  }
  // Tabs share `localStorage`, and each has a `sessionStorage`. A browser may refuse both, with an error.
  function read(name, area = 'sessionStorage') {
    try {
      return JSON.parse(window[area].getItem(`ipid.${name}`))
    } catch {}
  }
  function write(name, value, area = 'sessionStorage') {
    try {
      if (value === undefined) window[area].removeItem(`ipid.${name}`)
      else window[area].setItem(`ipid.${name}`, JSON.stringify(value))
    } catch {}
  }
  function makeId() {
    return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => (byte + 256).toString(16).slice(1)).join('')
  }
  // Read each time: another tab may have written it.
  function isAllowed() {
    const stored = read('choice', 'localStorage')
    if (typeof stored === 'number') choice = stored
    return choice === undefined ? dataset.consent !== 'required' : choice
  }
  // A session ends after 30 minutes without an event.
  function sessionId() {
    const at = Date.now()
    const last = read('session', 'localStorage') || session
    session = { id: last && Math.abs(at - last.at) < 18e5 ? last.id : makeId(), at }
    write('session', session, 'localStorage')
    return session.id
  }
  function keep(events) {
    queue = events.slice(-100)
    write('queue', queue.length ? queue : undefined)
  }
  // A copy as JSON, now: a page may change an object later, and one that is no JSON must hold up no other event.
  function copy(value) {
    try {
      return JSON.parse(JSON.stringify(value))
    } catch {}
  }
  function add(type, given, url = here()) {
    if (!isAllowed() || isHidden(url)) return
    const properties = copy(given)
    const { title } = document
    const at = Date.now()
    keep([...queue, { id: makeId(), type, at, url, referrer, title, properties, user: person, session: sessionId() }])
    sendIn(10)
  }
  function here() {
    return hash ? location.href : location.href.split('#')[0]
  }
  function isHidden(url) {
    if (!hidden.length) return
    const place = new URL(url || location.href)
    return (
      place.origin === location.origin &&
      hiddenPaths.some((pattern) => pathsOf(place).some((path) => pattern.test(path)))
    )
  }
  // With a route in the fragment: the path, the route, and the path that is stored.
  function pathsOf({ pathname, hash: fragment }) {
    if (!hash || !fragment) return [pathname]
    const route = `/${fragment.replace(/^#!?\/*/, '').split(/[?#]/)[0]}`
    return [pathname, route, pathname.replace(/\/$/, '') + route]
  }
  function bodyOf(events) {
    return JSON.stringify({ events, hash, sent_at: Date.now() })
  }
  function sendIn(ms) {
    clearTimeout(timer)
    timer = setTimeout(send, ms)
  }
  function send() {
    const batch = queue.slice(0, 20)
    if (sending || !batch.length || !isAllowed()) return
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
    settle()
    const left = isAllowed() ? queue.filter((event) => !beaconed.includes(event)) : []
    while (left.length && navigator.sendBeacon(target, bodyOf(left.slice(0, 20)))) beaconed.push(...left.splice(0, 20))
  }
  function view(url = here(), properties, isCalled) {
    // A page that is loaded before it is shown is no visit yet.
    if (!isAllowed() || ((page === url || document.prerendering) && !isCalled)) return
    if (page && page !== url) referrer = isHidden(page) ? '' : page
    page = url
    add('page', properties, url)
  }
  // The view of a changed query waits for the next change, as a search makes one with each key.
  function settle() {
    const url = changed
    changed = 0
    if (url) view(url)
  }
  function moved(isSamePage) {
    clearTimeout(changing)
    if (isSamePage) changed = here()
    else settle()
    // Pages set their title afterwards.
    changing = setTimeout(isSamePage ? settle : view, isSamePage ? 1e3 : 0)
  }
  function call(name, first, second) {
    if (name === 'optIn' || name === 'optOut') choose(name === 'optIn' ? 1 : 0)
    if (name === 'track') add(`${first}`, second)
    if (name === 'page') view(here(), first, 1)
    if (name === 'identify' && isAllowed()) {
      person = copy(first)
      write('person', person)
      add(name)
    }
  }
  function choose(now) {
    choice = now
    write('choice', now, 'localStorage')
    if (!now) forget()
    else if (!isManual) view()
  }
  // The visitor may have chosen in another tab.
  function obey() {
    if (!isAllowed() && choice === 0) forget()
  }
  function forget() {
    person = session = undefined
    keep([])
    write('person')
    write('session', undefined, 'localStorage')
  }
  function clicked(event) {
    const link = event.button < 2 && event.composedPath().find(({ href, host }) => href && host)
    if (!link) return
    const properties = { target: link.href }
    if (has('downloads') && (link.hasAttribute('download') || isFile.test(link.pathname))) add('download', properties)
    else if (has('outbound') && link.host !== location.host && /^http/.test(link.protocol)) add('outlink', properties)
  }

  for (const name of isManual ? [] : ['pushState', 'replaceState']) {
    const original = history[name]
    history[name] = function (...state) {
      const paths = `${pathsOf(location)}`
      original.apply(this, state)
      moved(name === 'replaceState' && paths === `${pathsOf(location)}`)
    }
  }
  if (!isManual) {
    window.addEventListener('popstate', () => moved())
    window.addEventListener('pageshow', ({ persisted }) => {
      if (!persisted) return
      page = 0
      view()
    })
    document.addEventListener('prerenderingchange', () => view())
    view()
  }
  for (const type of ['click', 'auxclick']) document.addEventListener(type, clicked, true)
  window.addEventListener('pagehide', leave)
  for (const type of ['storage', 'pageshow']) window.addEventListener(type, obey)
  obey()
  document.addEventListener('visibilitychange', () => {
    if (document.visibilityState === 'hidden') return leave()
    beaconed = []
    sendIn(0)
  })
  for (const waiting of early.q || []) call(...waiting)
})(window, document, navigator)
