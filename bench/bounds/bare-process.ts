import uWS from 'uWebSockets.js'
import { tell, told } from '../run/child.ts'

/* Swallows what is posted to it, and answers the same bytes every time: what uWebSockets.js takes without a product. */

const { answer, contentType } = await told<{ answer: string; contentType: string }>()

uWS
  .App()
  .post('/*', (response) => {
    response.onAborted(() => {})
    response.onData((_, isLast) => {
      if (!isLast) return
      response.cork(() => response.writeHeader('content-type', contentType).end(answer))
    })
  })
  .listen('127.0.0.1', 0, (socket) => {
    if (!socket) throw new Error('the bare server cannot listen')
    tell({ url: `http://127.0.0.1:${uWS.us_socket_local_port(socket)}` })
  })
