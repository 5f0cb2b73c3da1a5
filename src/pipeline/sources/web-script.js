/* ipid: page views without cookies. ipid('track', name, properties), ipid('identify', {email: …}) */
;((window, document) => {
  var navigator = window.navigator
  var script = document.currentScript
  var early = (window.ipid && window.ipid.q) || []
  if (!script || navigator.doNotTrack === '1' || navigator.globalPrivacyControl) {
    window.ipid = () => {}
    return
  }
  var target = script.src.replace(/\.js([?#].*)?$/, '')
  var storage = open()
  var queue = read('ipid.queue', [])
  var session = read('ipid.session') || make()
  var person = read('ipid.person')
  var referrer = document.referrer
  var page
  var sending = 0
  var failures = 0
  var timer

  function open() {
    try {
      return window.sessionStorage
    } catch (_) {}
  }
  function read(key, none) {
    try {
      return JSON.parse(storage.getItem(key)) || none
    } catch (_) {
      return none
    }
  }
  function write(key, value) {
    try {
      storage.setItem(key, JSON.stringify(value))
    } catch (_) {}
  }
  function make() {
    var crypto = window.crypto
    if (crypto.randomUUID) return crypto.randomUUID()
    return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => (byte + 256).toString(16).slice(1)).join('')
  }
  function here() {
    return window.location.href.split('#')[0]
  }
  function add(type, properties) {
    queue.push({
      id: make(),
      type: type,
      at: Date.now(),
      url: here(),
      referrer: referrer,
      title: document.title,
      properties: properties,
      user: person,
    })
    if (queue.length > 100) queue.shift()
    write('ipid.queue', queue)
    wait(10)
  }
  function wait(ms) {
    clearTimeout(timer)
    timer = setTimeout(send, ms)
  }
  function body() {
    return JSON.stringify({ events: queue.slice(0, 20), session: session, sent_at: Date.now() })
  }
  function sent(count) {
    queue.splice(0, count)
    write('ipid.queue', queue)
  }
  function send() {
    var count = Math.min(queue.length, 20)
    if (sending || !count) return
    sending = 1
    window
      .fetch(target, { method: 'POST', body: body(), keepalive: true, credentials: 'omit' })
      .then(
        (response) => {
          var again = response.status === 429 || response.status > 499
          if (!again) sent(count)
          return again
        },
        () => true,
      )
      .then((again) => {
        sending = 0
        failures = again ? failures + 1 : 0
        wait(again ? Math.min(30000, 500 * 2 ** failures) : 0)
      })
  }
  function leave() {
    while (!sending && queue.length && navigator.sendBeacon && navigator.sendBeacon(target, body())) sent(20)
  }
  function view() {
    if (page === here()) return
    if (page) referrer = page
    page = here()
    add('page')
  }
  function call(name, first, second) {
    if (name === 'track') add(String(first), second)
    if (name === 'identify') {
      person = first
      write('ipid.person', person)
      add('identify')
    }
    if (name === 'page') add('page', first)
  }
  ;['pushState', 'replaceState'].forEach((name) => {
    var original = window.history[name]
    window.history[name] = function () {
      var result = original.apply(this, arguments)
      setTimeout(view, 0)
      return result
    }
  })
  window.addEventListener('popstate', view)
  window.addEventListener('pagehide', leave)
  document.addEventListener('visibilitychange', () => {
    if (document.visibilityState === 'hidden') leave()
  })
  write('ipid.session', session)
  window.ipid = call
  view()
  early.forEach((call) => {
    window.ipid.apply(null, call)
  })
})(window, document)
