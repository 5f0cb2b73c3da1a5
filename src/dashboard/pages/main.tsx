import './styles/base.css'
import './styles/layout.css'
import './styles/components.css'
import './styles/uploads.css'
import { render } from 'preact'
import { App } from './app.tsx'

render(<App />, document.getElementById('page')!)
