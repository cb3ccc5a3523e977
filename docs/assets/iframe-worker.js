// Browsers refuse workers on pages that are opened from the disk, and the theme searches in one. There, the script of a
// worker runs in a hidden frame instead. The theme knows this class by its name.
if (location.protocol === "file:") {
  window.IFrameWorker = class extends EventTarget {
    constructor(url) {
      super()
      const frame = document.createElement("iframe")
      frame.hidden = true
      document.body.append(frame)
      this.inner = frame.contentWindow
      this.inner.document.open()
      this.inner.document.write("<!doctype html><title>worker</title><body>")
      this.inner.document.close()
      this.inner.postMessage = data => this.dispatchEvent(new MessageEvent("message", { data }))
      this.inner.importScripts = async (...urls) => {
        for (const each of urls) await this.load(each)
      }
      this.ready = this.load(new URL(url, document.baseURI).href)
    }

    load(url) {
      return new Promise((resolve, reject) => {
        const script = this.inner.document.createElement("script")
        script.src = url
        script.onload = resolve
        script.onerror = () => reject(new Error(`cannot load ${url}`))
        this.inner.document.body.append(script)
      })
    }

    async postMessage(data) {
      await this.ready
      this.inner.dispatchEvent(new this.inner.MessageEvent("message", { data }))
    }
  }
  window.Worker = window.IFrameWorker
}
